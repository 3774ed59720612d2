"""Conversions and their rules, through HTTP; their arithmetic."""
