"""Rails of block chains: what they keep in the database and what their worker does."""
