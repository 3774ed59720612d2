"""A person's own pages and those of the business: sign-in, password, security, the audit log."""
