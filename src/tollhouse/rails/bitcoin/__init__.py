"""Payments and payouts in bitcoin: watching, batches that are signed elsewhere, and their sending."""
