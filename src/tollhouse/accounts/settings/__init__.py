"""Payment settings and projects of a merchant."""
