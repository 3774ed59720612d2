"""Data of a person: export and erasure of what is kept about an email address."""
