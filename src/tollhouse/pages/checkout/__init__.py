"""The hosted checkout: the pages on which a customer pays a link."""
