"""How long the server takes for each page of the dashboard, when a merchant has a long history."""
