"""Receipts of payments: their numbers, their text, and their PDF files."""
