"""The team of a merchant: its members with their roles, ownership, and invitations."""
