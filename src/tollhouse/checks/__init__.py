"""The check of the whole database: money, events, what was written, and the schema that keeps them."""
