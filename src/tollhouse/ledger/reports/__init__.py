"""Financial reports, computed from ledger entries and from nothing else."""
