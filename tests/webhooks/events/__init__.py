"""Events, their delivery, and the way out."""
