"""Customers and merchants who act together while prices move, against the platform."""
