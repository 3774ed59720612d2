"""Pages for developers: applications and their connections, webhooks, and the log of requests."""
