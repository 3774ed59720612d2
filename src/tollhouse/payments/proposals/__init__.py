"""Proposals: operations that a connection or an API key proposes, and that run once the merchant approves them."""
