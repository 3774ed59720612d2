-- transactional: false
-- Tables that had two unique indexes, (id) and (merchant_id, mode, id), get one that serves both: decision 0090.
-- It begins with the ID, which rises with time, and foreign keys match its columns in any order. The ID alone stays unique by
-- the digest of each row.
DROP INDEX CONCURRENTLY IF EXISTS balance_payments_key;
CREATE UNIQUE INDEX CONCURRENTLY balance_payments_key ON balance_payments (id, merchant_id, mode);
ALTER TABLE balance_payments
    DROP CONSTRAINT balance_payments_pkey,
    DROP CONSTRAINT IF EXISTS balance_payments_merchant_id_mode_id_key,
    ADD CONSTRAINT balance_payments_pkey PRIMARY KEY USING INDEX balance_payments_key;

DROP INDEX CONCURRENTLY IF EXISTS fulfillments_key;
CREATE UNIQUE INDEX CONCURRENTLY fulfillments_key ON fulfillments (id, merchant_id, mode);
ALTER TABLE fulfillments
    DROP CONSTRAINT fulfillments_pkey,
    DROP CONSTRAINT IF EXISTS fulfillments_merchant_id_mode_id_key,
    ADD CONSTRAINT fulfillments_pkey PRIMARY KEY USING INDEX fulfillments_key;

DROP INDEX CONCURRENTLY IF EXISTS refunds_key;
CREATE UNIQUE INDEX CONCURRENTLY refunds_key ON refunds (id, merchant_id, mode);
ALTER TABLE refunds
    DROP CONSTRAINT refunds_pkey,
    DROP CONSTRAINT IF EXISTS refunds_merchant_id_mode_id_key,
    ADD CONSTRAINT refunds_pkey PRIMARY KEY USING INDEX refunds_key;

DROP INDEX CONCURRENTLY IF EXISTS withdrawals_key;
CREATE UNIQUE INDEX CONCURRENTLY withdrawals_key ON withdrawals (id, merchant_id, mode);
ALTER TABLE withdrawals
    DROP CONSTRAINT withdrawals_pkey,
    DROP CONSTRAINT IF EXISTS withdrawals_merchant_id_mode_id_key,
    ADD CONSTRAINT withdrawals_pkey PRIMARY KEY USING INDEX withdrawals_key;

-- That of payment links is used by the next migration, since a foreign key moves with it.
DROP INDEX CONCURRENTLY IF EXISTS payment_links_key;
CREATE UNIQUE INDEX CONCURRENTLY payment_links_key ON payment_links (id, merchant_id, mode);
