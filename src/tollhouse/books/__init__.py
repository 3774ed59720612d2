"""The books of a merchant at the dashboard: its balances, and every ledger entry behind them, as pages and as CSV."""
