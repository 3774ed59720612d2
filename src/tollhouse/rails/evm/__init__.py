"""The rail of an EVM network: deposits and payouts of its coin and of ERC-20 tokens, through an operator's node."""
