"""The files of a bank: statements, transfers and status reports (ISO 20022)."""
