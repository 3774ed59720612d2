-- transactional: false
-- For the search of the dashboard: links by the beginning of an external ID or email address, payments by amount.
DROP INDEX CONCURRENTLY IF EXISTS payment_links_external_prefix;
CREATE INDEX CONCURRENTLY payment_links_external_prefix ON payment_links (merchant_id, mode, external_id text_pattern_ops)
    WHERE external_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS payment_links_email_prefix;
CREATE INDEX CONCURRENTLY payment_links_email_prefix ON payment_links
    (merchant_id, mode, lower(customer_email) text_pattern_ops) WHERE customer_email IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS transactions_by_amount;
CREATE INDEX CONCURRENTLY transactions_by_amount ON transactions
    (merchant_id, mode, currency, amount_minor, created_at DESC, id DESC);
