"""Infrastructure: settings, PostgreSQL, outgoing HTTP, hashing and encryption, the log, the embedded database."""
