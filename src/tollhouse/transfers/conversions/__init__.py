"""Conversions of a merchant's balance from one currency to another, by request or by rule."""
