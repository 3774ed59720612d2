"""The gate that all outgoing money passes."""
