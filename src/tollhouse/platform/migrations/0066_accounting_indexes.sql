-- transactional: false
-- Ledger transactions by time: a few bytes for each of their pages. Times mostly rise with the pages; those that do not are
-- outliers, of which a range keeps several.
DROP INDEX CONCURRENTLY IF EXISTS ledger_transactions_by_time;
CREATE INDEX CONCURRENTLY ledger_transactions_by_time ON ledger_transactions
    USING brin (created_at timestamptz_minmax_multi_ops) WITH (pages_per_range = 32, autosummarize = on);

-- What operators decided about transfers, and payouts that the bank has not debited: few among many.
DROP INDEX CONCURRENTLY IF EXISTS bank_entry_parts_by_decision;
CREATE INDEX CONCURRENTLY bank_entry_parts_by_decision ON bank_entry_parts (outcome, id)
    WHERE outcome IN ('dismissed', 'fee', 'written_off');
DROP INDEX CONCURRENTLY IF EXISTS bank_payouts_not_debited;
CREATE INDEX CONCURRENTLY bank_payouts_not_debited ON bank_payouts (currency, status)
    WHERE debited_at IS NULL AND status IN ('exported', 'returned');
