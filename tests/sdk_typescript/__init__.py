"""The TypeScript SDK: what of it is generated, its own tests, and its work with the real service."""
