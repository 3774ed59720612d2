"""Evidence of tampering: a hash chain over ledger transactions and operator actions, with signed heads to keep elsewhere."""
