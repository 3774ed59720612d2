-- transactional: false
-- For the search of the dashboard: objects by the beginning of their external ID. Those of refunds and conversions serve the lists too.
DROP INDEX CONCURRENTLY IF EXISTS refunds_external_prefix;
CREATE INDEX CONCURRENTLY refunds_external_prefix ON refunds
    (merchant_id, mode, external_id text_pattern_ops, created_at DESC, id DESC) WHERE external_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS refunds_external;
DROP INDEX CONCURRENTLY IF EXISTS conversions_external_prefix;
CREATE INDEX CONCURRENTLY conversions_external_prefix ON conversions
    (merchant_id, mode, external_id text_pattern_ops, created_at DESC, id DESC) WHERE external_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS conversions_external;
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_external_prefix;
CREATE INDEX CONCURRENTLY withdrawals_external_prefix ON withdrawals (merchant_id, mode, external_id text_pattern_ops)
    WHERE external_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS balance_payments_external_prefix;
CREATE INDEX CONCURRENTLY balance_payments_external_prefix ON balance_payments
    (merchant_id, mode, external_id text_pattern_ops) WHERE external_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS fulfillments_external_prefix;
CREATE INDEX CONCURRENTLY fulfillments_external_prefix ON fulfillments (merchant_id, mode, external_id text_pattern_ops)
    WHERE external_id IS NOT NULL;
