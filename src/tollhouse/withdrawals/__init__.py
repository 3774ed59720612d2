"""Withdrawals: a merchant's money on its way out, held first, then sent by a rail, then taken or given back."""
