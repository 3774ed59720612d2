"""Transactions: a customer's attempts to pay a link, how they settle, and what ends them."""
