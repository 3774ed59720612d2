-- transactional: false
-- Payouts that no statement shows yet: few of many.
DROP INDEX CONCURRENTLY IF EXISTS bank_payouts_exported;
CREATE INDEX CONCURRENTLY bank_payouts_exported ON bank_payouts (batch_id) WHERE status = 'exported';
