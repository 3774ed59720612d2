"""Pages of balances: the ledger, reports, and what spends a balance."""
