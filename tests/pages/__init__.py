"""Pages of the dashboard, the checkout and the console."""
