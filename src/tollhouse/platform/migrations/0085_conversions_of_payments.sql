-- transactional: false
-- The conversions of a payment.
DROP INDEX CONCURRENTLY IF EXISTS conversions_of_transaction;
CREATE INDEX CONCURRENTLY conversions_of_transaction ON conversions (transaction_id, created_at, id) WHERE transaction_id IS NOT NULL;
