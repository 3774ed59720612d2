"""OAuth clients that others wrote, against a running service."""
