"""Payments by link."""
