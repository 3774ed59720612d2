"""The instance: its checks, commands, monitoring and documents."""
