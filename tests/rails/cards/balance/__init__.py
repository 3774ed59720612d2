"""The balance at the card provider, beside the ledger."""
