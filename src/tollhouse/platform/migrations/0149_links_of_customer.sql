-- transactional: false
-- The links of a customer, newest first, and the customers of a merchant in the order of bytes.
DROP INDEX CONCURRENTLY IF EXISTS payment_links_of_customer;
CREATE INDEX CONCURRENTLY payment_links_of_customer
    ON payment_links (merchant_id, mode, customer_key(customer_email, external_id) text_pattern_ops, created_at DESC, id DESC)
    WHERE customer_key(customer_email, external_id) IS NOT NULL;
