"""Payment links."""
