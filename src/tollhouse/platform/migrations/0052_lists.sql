-- transactional: false
-- Filters of lists, in the order of the list: a rare status, method, currency, type or topic is found without reading the
-- rows between. The status that almost every row ends with is not in the indexes by status: it is found by the list itself.
DROP INDEX CONCURRENTLY IF EXISTS transactions_by_status;
CREATE INDEX CONCURRENTLY transactions_by_status ON transactions (merchant_id, mode, status, created_at DESC, id DESC)
    WHERE status <> 'succeeded';
DROP INDEX CONCURRENTLY IF EXISTS transactions_by_method;
CREATE INDEX CONCURRENTLY transactions_by_method ON transactions (merchant_id, mode, method_id, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS payment_links_by_status;
CREATE INDEX CONCURRENTLY payment_links_by_status ON payment_links (merchant_id, mode, status, created_at DESC, id DESC)
    WHERE status <> 'completed';
DROP INDEX CONCURRENTLY IF EXISTS payment_links_by_amount;
CREATE INDEX CONCURRENTLY payment_links_by_amount
    ON payment_links (merchant_id, mode, currency, amount_minor, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS ledger_entries_by_type;
CREATE INDEX CONCURRENTLY ledger_entries_by_type ON ledger_entries (merchant_id, mode, type, created_at DESC, id DESC)
    WHERE type <> 'payment' AND type <> 'payment_fee';
DROP INDEX CONCURRENTLY IF EXISTS refunds_by_status;
CREATE INDEX CONCURRENTLY refunds_by_status ON refunds (merchant_id, mode, status, created_at DESC, id DESC)
    WHERE status <> 'succeeded';
DROP INDEX CONCURRENTLY IF EXISTS refunds_by_currency;
CREATE INDEX CONCURRENTLY refunds_by_currency ON refunds (merchant_id, mode, currency, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_by_status;
CREATE INDEX CONCURRENTLY withdrawals_by_status ON withdrawals (merchant_id, mode, status, created_at DESC, id DESC)
    WHERE status <> 'completed';
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_by_currency;
CREATE INDEX CONCURRENTLY withdrawals_by_currency ON withdrawals (merchant_id, mode, currency, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_by_amount;
CREATE INDEX CONCURRENTLY withdrawals_by_amount
    ON withdrawals (merchant_id, mode, currency, amount_minor, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS withdrawals_by_method;
CREATE INDEX CONCURRENTLY withdrawals_by_method ON withdrawals (merchant_id, mode, method_id, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS balance_payments_by_status;
CREATE INDEX CONCURRENTLY balance_payments_by_status
    ON balance_payments (merchant_id, mode, status, created_at DESC, id DESC) WHERE status <> 'captured';
DROP INDEX CONCURRENTLY IF EXISTS balance_payments_by_currency;
CREATE INDEX CONCURRENTLY balance_payments_by_currency
    ON balance_payments (merchant_id, mode, currency, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS fulfillments_by_status;
CREATE INDEX CONCURRENTLY fulfillments_by_status ON fulfillments (merchant_id, mode, status, created_at DESC, id DESC)
    WHERE status <> 'completed';
DROP INDEX CONCURRENTLY IF EXISTS fulfillments_by_currency;
CREATE INDEX CONCURRENTLY fulfillments_by_currency ON fulfillments (merchant_id, mode, currency, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS fulfillments_by_product;
CREATE INDEX CONCURRENTLY fulfillments_by_product ON fulfillments (merchant_id, mode, product_id, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS conversions_by_from_currency;
CREATE INDEX CONCURRENTLY conversions_by_from_currency
    ON conversions (merchant_id, mode, from_currency, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS conversions_by_to_currency;
CREATE INDEX CONCURRENTLY conversions_by_to_currency
    ON conversions (merchant_id, mode, to_currency, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS audit_lines_by_topic;
CREATE INDEX CONCURRENTLY audit_lines_by_topic
    ON audit_lines (merchant_id, split_part(deed, '.', 1), created_at DESC, id DESC);
-- How often each topic occurs is known only after this.
ANALYZE audit_lines;
-- Events of a rare type, in the order of the list. The types of every payment are not in it. One partition at a time, so that
-- the events of at most one month wait.
DROP INDEX IF EXISTS webhook_events_by_type;
CREATE OR REPLACE PROCEDURE index_event_types()
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_part regclass;
    v_index text;
BEGIN
    CREATE INDEX webhook_events_by_type ON ONLY webhook_events (merchant_id, mode, type, created_at DESC, id DESC)
        WHERE type <> 'payment.succeeded' AND type <> 'balance.updated';
    FOR v_part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'webhook_events'::regclass ORDER BY inhrelid LOOP
        v_index := replace(v_part::text, 'webhook_events', 'webhook_events_by_type');
        EXECUTE format('CREATE INDEX %I ON %s (merchant_id, mode, type, created_at DESC, id DESC)
                        WHERE type <> ''payment.succeeded'' AND type <> ''balance.updated''', v_index, v_part);
        EXECUTE format('ALTER INDEX webhook_events_by_type ATTACH PARTITION %I', v_index);
        COMMIT;
    END LOOP;
END $$;
CALL index_event_types();
DROP PROCEDURE index_event_types();
