"""The operator's bank account: imported statements and exported payouts."""
