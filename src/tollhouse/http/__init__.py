"""The HTTP framework: operations, error formats, forms, lists, session cookies, templates."""
