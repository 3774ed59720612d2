"""What a rail is: the interface that each one implements, and the registry of those that are configured."""
