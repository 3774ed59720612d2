"""The ledger on a real PostgreSQL."""
