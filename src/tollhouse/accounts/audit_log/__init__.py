"""The audit log in the dashboard: who did what, when and from where, and what changed."""
