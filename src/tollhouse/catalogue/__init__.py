"""What exists to be paid with and for: currencies, methods, projects."""
