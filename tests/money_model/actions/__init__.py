"""What may happen, a rule for each deed: asked of the service, told to the oracle, and both must come to the same."""
