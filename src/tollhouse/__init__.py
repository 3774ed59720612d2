"""Tollhouse: a self-hosted payment platform for merchants."""
