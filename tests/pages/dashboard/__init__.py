"""Pages of the dashboard, as a browser without scripts sees them."""
