"""Conversions: one currency of a merchant's balance into another, at a price that is never old, by hand or by rule."""
