"""The dashboard's pages of balances and ledger entries, and the CSV export."""
