"""Payments and payouts on EVM networks: watching, payouts, sweeps, and the signer with its keys."""
