-- transactional: false
-- What workers look for at every block, and pages at every view: few rows among many.
DROP INDEX CONCURRENTLY IF EXISTS transactions_open_on_chains;
CREATE INDEX CONCURRENTLY transactions_open_on_chains ON transactions (rail, mode, currency, rail_reference)
    WHERE method_type = 'crypto' AND status IN ('pending', 'processing');
DROP INDEX CONCURRENTLY IF EXISTS chain_payouts_unmined;
CREATE INDEX CONCURRENTLY chain_payouts_unmined ON chain_payouts (rail, mode, wallet, nonce)
    WHERE status IN ('reserved', 'signed');
DROP INDEX CONCURRENTLY IF EXISTS withdrawal_schedule_runs_of_merchant;
CREATE INDEX CONCURRENTLY withdrawal_schedule_runs_of_merchant
    ON withdrawal_schedule_runs (merchant_id, at DESC, due_at DESC);

-- 50,000 characters of four bytes, with their names.
ALTER TABLE chargebacks DROP CONSTRAINT IF EXISTS chargebacks_evidence_check;
ALTER TABLE chargebacks DROP CONSTRAINT IF EXISTS chargebacks_evidence;
ALTER TABLE chargebacks ADD CONSTRAINT chargebacks_evidence
    CHECK (jsonb_typeof(evidence) = 'object' AND octet_length(evidence::text) <= 300000) NOT VALID;
ALTER TABLE chargebacks VALIDATE CONSTRAINT chargebacks_evidence;
