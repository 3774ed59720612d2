"""What we stand on: settings, PostgreSQL, outgoing HTTP, hashing and sealing, the log, the embedded database."""
