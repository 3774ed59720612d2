"""Authentication: API keys, access tokens, sessions, passwords, two-factor authentication, and the guards of operations."""
