"""An EVM network: its node, blocks, tokens, units, derived addresses and transactions."""
