"""The audit log of a merchant: who did what and from where, recorded in the transaction of the action, and what changed."""
