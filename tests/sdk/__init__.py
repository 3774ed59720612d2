"""The Python SDK and the command line for integrators, against the real service."""
