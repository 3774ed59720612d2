"""How long the import of a large bank statement takes, and how much memory it needs."""
