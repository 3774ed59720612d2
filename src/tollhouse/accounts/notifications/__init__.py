"""Notifications: what happened to a merchant, in the inbox of its members and by email, at once or once a day."""
