"""The web: the table of operations, dialects of errors, forms, pages of lists, the session cookie, templates."""
