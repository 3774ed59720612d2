"""The account of the house at its bank: statements that are imported, and payouts that are exported."""
