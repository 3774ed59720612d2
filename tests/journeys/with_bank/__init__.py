"""Journeys through a service with an account at a bank."""
