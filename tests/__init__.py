"""The tests: through the HTTP door, on a real PostgreSQL, with nothing of our own mocked."""
