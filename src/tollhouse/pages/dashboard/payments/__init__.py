"""Pages of what customers pay: links, payments, refunds, disputes, and their settings."""
