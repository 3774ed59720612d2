"""Rails of block chains, against a real node of an EVM network."""
