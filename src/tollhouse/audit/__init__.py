"""The audit log of a merchant: what was done, by whom and from where, written by the transaction that does it."""
