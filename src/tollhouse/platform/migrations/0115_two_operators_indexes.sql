-- transactional: false
-- What a merchant has withdrawn and refunded in live mode: what waits for review, and what was approved lately; the
-- payouts that operators have refused; and the entries of a day that have the same reference of the bank.

DROP INDEX CONCURRENTLY IF EXISTS outgoing_transfers_in_review;
CREATE INDEX CONCURRENTLY outgoing_transfers_in_review ON outgoing_transfers (merchant_id, currency)
    WHERE mode = 'live' AND review = 'required' AND closed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS outgoing_transfers_approved_lately;
CREATE INDEX CONCURRENTLY outgoing_transfers_approved_lately
    ON outgoing_transfers (merchant_id, currency, greatest(created_at, reviewed_at))
    WHERE mode = 'live' AND review = 'approved' AND closed_at IS NULL;
ALTER TABLE outgoing_transfers VALIDATE CONSTRAINT outgoing_transfers_approved;
DROP INDEX CONCURRENTLY IF EXISTS bank_payouts_refused_lately;
CREATE INDEX CONCURRENTLY bank_payouts_refused_lately ON bank_payouts (merchant_id, updated_at)
    WHERE status = 'refused' AND batch_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS bank_entries_by_reference;
CREATE INDEX CONCURRENTLY bank_entries_by_reference ON bank_entries (bank_reference, booked_on)
    WHERE bank_reference IS NOT NULL;
