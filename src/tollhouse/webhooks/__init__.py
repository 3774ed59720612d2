"""Webhooks: the saved address, signing secrets, and reading, testing and repeating deliveries."""
