"""Transactions: attempts to pay a link, their settlement, and the closing of links."""
