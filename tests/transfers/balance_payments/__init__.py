"""Balance payments."""
