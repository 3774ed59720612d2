"""Receipts: their numbers, pages, files and emails."""
