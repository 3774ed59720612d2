"""The webhook operations, over HTTP."""
