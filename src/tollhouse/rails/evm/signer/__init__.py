"""The signer: a process of its own with the private keys of EVM networks, which signs within its own limits."""
