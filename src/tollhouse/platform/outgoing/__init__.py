"""HTTP requests to servers that are not trusted."""
