"""What integrators read: that it is served, that its links lead somewhere, that its lines work."""
