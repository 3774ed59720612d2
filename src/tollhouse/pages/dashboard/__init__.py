"""Pages for merchants and owners of applications, one module for each group of pages."""
