-- Running totals, so that reports and the home page read as much of a long history as of a short one. A series is what is
-- added up: entries of one type and direction (of payments by method and project too), payments by their time of success or
-- failure, refunds by their time of creation, or fulfillments that ended by theirs: counts and charges by status and product,
-- and deliveries by how long they took. Its row has the total up to now. For each earlier quarter hour in which something was
-- added, there is a row with the total up to the end of it: time zones differ by quarter hours. So the total of a period is a
-- difference of two rows. No constraint bounds a total, so that none refuses a posting: a payment that changes between the
-- start of its running total and the addition of what was there before counts below zero for that while. What is wrong is
-- found by a check and made anew.
CREATE TABLE running_series (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    measure text NOT NULL
        CHECK (measure IN ('entries', 'succeeded', 'failed', 'refunded', 'fulfilled', 'delivered')),
    currency text NOT NULL,
    type text NOT NULL,
    raised boolean NOT NULL,
    method_id text NOT NULL,
    project_id uuid NOT NULL,
    starts_at timestamptz NOT NULL,
    amount numeric NOT NULL,
    count bigint NOT NULL,
    latest_at timestamptz NOT NULL,
    CONSTRAINT running_series_key UNIQUE (merchant_id, mode, measure, currency, type, raised, method_id, project_id)
) WITH (fillfactor = 70);
COMMENT ON COLUMN running_series.raised IS 'whether the entries raise the total of the merchant''s balance';
COMMENT ON COLUMN running_series.type IS
    'of an entry its type, of a fulfillment its status, of a delivery the status and the seconds it took';
COMMENT ON COLUMN running_series.method_id IS
    'of the payment that an entry belongs to, or the product of a fulfillment; empty if there is none';
COMMENT ON COLUMN running_series.project_id IS 'of the payment or fulfillment; zero if there is none';
COMMENT ON COLUMN running_series.starts_at IS 'the last quarter hour in which something was added';
COMMENT ON COLUMN running_series.latest_at IS 'the latest time of an entry that was added in that quarter hour';
CREATE TABLE running_totals (
    series_id bigint NOT NULL REFERENCES running_series (id),
    starts_at timestamptz NOT NULL,
    amount numeric NOT NULL,
    count bigint NOT NULL,
    latest_at timestamptz NOT NULL,
    PRIMARY KEY (series_id, starts_at)
);

CREATE FUNCTION quarter_hour(p_at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT date_bin('15 minutes', p_at, '2000-01-01Z'::timestamptz) $$;

-- Whole seconds, rounded up; above 100 to two digits, so that there are few different ones.
CREATE FUNCTION delivery_seconds(p_from timestamptz, p_to timestamptz) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT CASE WHEN s > 100 THEN ceil(s / 10 ^ (length(s::text) - 2)) * 10 ^ (length(s::text) - 2) ELSE s END::numeric(20, 0)
    FROM (SELECT greatest(ceil(extract(epoch FROM p_to - p_from)), 0)::numeric(20, 0) AS s) AS whole
$$;

-- Adds to a series at a time. The row of the series is locked until the transaction ends.
CREATE FUNCTION running_totals_add(
    p_merchant uuid, p_mode text, p_measure text, p_currency text, p_type text, p_raised boolean, p_method text, p_project uuid,
    p_at timestamptz, p_amount numeric, p_count bigint, p_latest timestamptz
) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_starts_at timestamptz := quarter_hour(p_at);
    v record;
BEGIN
    LOOP
        UPDATE running_series s SET amount = s.amount + p_amount, count = s.count + p_count,
            starts_at = greatest(s.starts_at, v_starts_at),
            latest_at = CASE WHEN s.starts_at < v_starts_at THEN p_latest
                             WHEN s.starts_at = v_starts_at THEN greatest(s.latest_at, p_latest) ELSE s.latest_at END
        WHERE s.merchant_id = p_merchant AND s.mode = p_mode AND s.measure = p_measure AND s.currency = p_currency
          AND s.type = p_type AND s.raised = p_raised AND s.method_id = p_method AND s.project_id = p_project
        RETURNING s.id, old.starts_at, old.amount, old.count, old.latest_at INTO v;
        EXIT WHEN FOUND;
        INSERT INTO running_series (merchant_id, mode, measure, currency, type, raised, method_id, project_id, starts_at,
                                    amount, count, latest_at)
        VALUES (p_merchant, p_mode, p_measure, p_currency, p_type, p_raised, p_method, p_project, v_starts_at, p_amount,
                p_count, p_latest)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
    IF v.starts_at < v_starts_at THEN
        INSERT INTO running_totals (series_id, starts_at, amount, count, latest_at)
        VALUES (v.id, v.starts_at, v.amount, v.count, v.latest_at)
        ON CONFLICT (series_id, starts_at)
            DO UPDATE SET amount = excluded.amount, count = excluded.count, latest_at = excluded.latest_at;
    ELSIF v.starts_at > v_starts_at THEN
        -- Added late: the totals of later quarter hours include it too.
        UPDATE running_totals r SET amount = r.amount + p_amount, count = r.count + p_count,
            latest_at = CASE WHEN r.starts_at = v_starts_at THEN greatest(r.latest_at, p_latest) ELSE r.latest_at END
        WHERE r.series_id = v.id AND r.starts_at >= v_starts_at;
        INSERT INTO running_totals (series_id, starts_at, amount, count, latest_at)
        SELECT v.id, v_starts_at, p_amount + coalesce(b.amount, 0), p_count + coalesce(b.count, 0), p_latest
        FROM (SELECT) AS one
        LEFT JOIN LATERAL (SELECT r.amount, r.count FROM running_totals r
                           WHERE r.series_id = v.id AND r.starts_at < v_starts_at ORDER BY r.starts_at DESC LIMIT 1) b ON true
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- The payment that a ledger transaction is of, by its method and project.
CREATE VIEW running_sources AS
    SELECT t.id, t.mode, t.created_at AS at, coalesce(x.method_id, '') AS method_id,
           coalesce(l.project_id, '00000000-0000-0000-0000-000000000000') AS project_id
    FROM ledger_transactions t
    LEFT JOIN refunds r ON t.source_type = 'refund' AND r.id = t.source_id
    LEFT JOIN chargebacks c ON t.source_type = 'chargeback' AND c.id = t.source_id
    LEFT JOIN transactions x ON x.id = CASE t.source_type WHEN 'transaction' THEN t.source_id
                                                          WHEN 'refund' THEN r.transaction_id
                                                          WHEN 'chargeback' THEN c.transaction_id END
    LEFT JOIN payment_links l ON l.id = x.payment_link_id;

-- What each entry adds, and to which series. An entry counts in the period of its transaction. What moves between a merchant's
-- own accounts moves no total.
CREATE VIEW running_entries AS
    SELECT e.merchant_id, e.mode, e.currency, e.type, (e.account = 'debt') <> (e.delta > 0) AS raised, t.method_id,
           t.project_id, t.at, CASE e.account WHEN 'debt' THEN -e.delta ELSE e.delta END AS amount, e.transaction_id,
           e.created_at
    FROM ledger_entries e JOIN running_sources t ON t.id = e.transaction_id AND t.mode = e.mode
    WHERE e.type NOT IN ('hold', 'release', 'settlement');

CREATE FUNCTION running_totals_follow_entries() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
DECLARE
    v record;
    v_source running_sources%ROWTYPE;
BEGIN
    -- In one order, so that two that add to the same series do not wait for each other. A transaction counts once in a series.
    FOR v IN
        SELECT e.transaction_id, e.merchant_id, e.mode, e.currency, e.type, (e.account = 'debt') <> (e.delta > 0) AS raised,
               sum(CASE e.account WHEN 'debt' THEN -e.delta ELSE e.delta END) AS amount, max(e.created_at) AS latest_at
        FROM posted e WHERE e.type NOT IN ('hold', 'release', 'settlement')
        GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    LOOP
        IF v_source.id IS DISTINCT FROM v.transaction_id THEN
            SELECT * INTO v_source FROM running_sources t WHERE t.id = v.transaction_id;
        END IF;
        PERFORM running_totals_add(v.merchant_id, v.mode, 'entries', v.currency, v.type, v.raised, v_source.method_id,
                                   v_source.project_id, v_source.at, v.amount, 1, v.latest_at);
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER running_totals AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS posted
    FOR EACH STATEMENT EXECUTE FUNCTION running_totals_follow_entries();

-- Payments by the time of their success.
CREATE FUNCTION running_totals_follow_payment() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.succeeded_at IS NOT NULL THEN
        PERFORM running_totals_add(OLD.merchant_id, OLD.mode, 'succeeded', OLD.currency, '', true, OLD.method_id,
                                   '00000000-0000-0000-0000-000000000000', OLD.succeeded_at, -OLD.credited_minor, -1,
                                   OLD.succeeded_at);
    END IF;
    IF NEW.succeeded_at IS NOT NULL THEN
        PERFORM running_totals_add(NEW.merchant_id, NEW.mode, 'succeeded', NEW.currency, '', true, NEW.method_id,
                                   '00000000-0000-0000-0000-000000000000', NEW.succeeded_at, NEW.credited_minor, 1,
                                   NEW.succeeded_at);
    END IF;
    RETURN NULL;
END $$;
-- Deferred, so that the series are locked after the merchant's balance, which every payment that succeeds has locked.
CREATE CONSTRAINT TRIGGER running_totals AFTER INSERT ON transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.succeeded_at IS NOT NULL) EXECUTE FUNCTION running_totals_follow_payment();
CREATE CONSTRAINT TRIGGER running_totals_moved AFTER UPDATE ON transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN ((OLD.succeeded_at, OLD.credited_minor) IS DISTINCT FROM (NEW.succeeded_at, NEW.credited_minor))
    EXECUTE FUNCTION running_totals_follow_payment();

-- A payment that fails locks no balance, but the row of its series for the time of its commit.
CREATE FUNCTION running_totals_follow_failure() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status = 'failed' THEN
        PERFORM running_totals_add(OLD.merchant_id, OLD.mode, 'failed', OLD.currency, '', true, '',
                                   '00000000-0000-0000-0000-000000000000', OLD.updated_at, 0, -1, OLD.updated_at);
    END IF;
    IF NEW.status = 'failed' THEN
        PERFORM running_totals_add(NEW.merchant_id, NEW.mode, 'failed', NEW.currency, '', true, '',
                                   '00000000-0000-0000-0000-000000000000', NEW.updated_at, 0, 1, NEW.updated_at);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER running_totals_failed AFTER UPDATE ON transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN ((OLD.status = 'failed' OR NEW.status = 'failed')
        AND (OLD.status, OLD.updated_at) IS DISTINCT FROM (NEW.status, NEW.updated_at))
    EXECUTE FUNCTION running_totals_follow_failure();

-- Refunds by the time of their creation. Refunds of unapplied money do not reduce the merchant's balance.
CREATE FUNCTION running_totals_follow_refund() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status = 'succeeded' AND OLD.unapplied_minor < OLD.amount_minor THEN
        PERFORM running_totals_add(OLD.merchant_id, OLD.mode, 'refunded', OLD.currency, '', false, '',
                                   '00000000-0000-0000-0000-000000000000', OLD.created_at,
                                   OLD.unapplied_minor - OLD.amount_minor, -1, OLD.created_at);
    END IF;
    IF NEW.status = 'succeeded' AND NEW.unapplied_minor < NEW.amount_minor THEN
        PERFORM running_totals_add(NEW.merchant_id, NEW.mode, 'refunded', NEW.currency, '', false, '',
                                   '00000000-0000-0000-0000-000000000000', NEW.created_at,
                                   NEW.amount_minor - NEW.unapplied_minor, 1, NEW.created_at);
    END IF;
    RETURN NULL;
END $$;
-- Deferred, so that the series are locked after the merchant's balance, which every such refund has locked.
CREATE CONSTRAINT TRIGGER running_totals AFTER INSERT ON refunds DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.status = 'succeeded') EXECUTE FUNCTION running_totals_follow_refund();
CREATE CONSTRAINT TRIGGER running_totals_moved AFTER UPDATE ON refunds DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.amount_minor IS DISTINCT FROM NEW.amount_minor
        OR OLD.unapplied_minor IS DISTINCT FROM NEW.unapplied_minor OR OLD.created_at IS DISTINCT FROM NEW.created_at)
    EXECUTE FUNCTION running_totals_follow_refund();

CREATE FUNCTION running_totals_add_fulfillment(p fulfillments, p_count int) RETURNS void
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
DECLARE
    v_project uuid := coalesce(p.project_id, '00000000-0000-0000-0000-000000000000');
BEGIN
    PERFORM running_totals_add(p.merchant_id, p.mode, 'fulfilled', p.currency, p.status, false, p.product_id, v_project,
                               p.created_at, p_count * p.unit_price_minor::numeric * p.delivered_quantity, p_count,
                               p.created_at);
    IF p.completed_at IS NOT NULL THEN
        PERFORM running_totals_add(p.merchant_id, p.mode, 'delivered', '',
                                   p.status || ' ' || delivery_seconds(p.created_at, p.completed_at), true, p.product_id,
                                   v_project, p.created_at, p_count * p.delivered_quantity::numeric, p_count, p.created_at);
    END IF;
END $$;
CREATE FUNCTION running_totals_follow_fulfillment() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
BEGIN
    IF OLD.status NOT IN ('pending', 'processing') THEN
        PERFORM running_totals_add_fulfillment(OLD, -1);
    END IF;
    IF NEW.status NOT IN ('pending', 'processing') THEN
        PERFORM running_totals_add_fulfillment(NEW, 1);
    END IF;
    RETURN NULL;
END $$;
-- Deferred, so that the series are locked after the merchant's balance, which every fulfillment that ends has locked.
CREATE CONSTRAINT TRIGGER running_totals AFTER UPDATE ON fulfillments DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (
        OLD.status IS DISTINCT FROM NEW.status OR OLD.product_id IS DISTINCT FROM NEW.product_id
        OR OLD.project_id IS DISTINCT FROM NEW.project_id OR OLD.delivered_quantity IS DISTINCT FROM NEW.delivered_quantity
        OR OLD.created_at IS DISTINCT FROM NEW.created_at OR OLD.completed_at IS DISTINCT FROM NEW.completed_at)
    EXECUTE FUNCTION running_totals_follow_fulfillment();

-- What was added to each series in each quarter hour, by the rows that it adds up.
CREATE VIEW running_sums AS
    SELECT merchant_id, mode, 'entries' AS measure, currency, type, raised, method_id, project_id,
           quarter_hour(at) AS starts_at, sum(amount) AS amount, count(DISTINCT transaction_id) AS count,
           max(created_at) AS latest_at
    FROM running_entries GROUP BY 1, 2, 4, 5, 6, 7, 8, 9
    UNION ALL
    SELECT merchant_id, mode, 'succeeded', currency, '', true, method_id, '00000000-0000-0000-0000-000000000000',
           quarter_hour(succeeded_at), sum(credited_minor), count(*), max(succeeded_at)
    FROM transactions WHERE succeeded_at IS NOT NULL GROUP BY 1, 2, 4, 7, 9
    UNION ALL
    SELECT merchant_id, mode, 'failed', currency, '', true, '', '00000000-0000-0000-0000-000000000000',
           quarter_hour(updated_at), 0, count(*), max(updated_at)
    FROM transactions WHERE status = 'failed' GROUP BY 1, 2, 4, 9
    UNION ALL
    SELECT merchant_id, mode, 'refunded', currency, '', false, '', '00000000-0000-0000-0000-000000000000',
           quarter_hour(created_at), sum(amount_minor - unapplied_minor), count(*), max(created_at)
    FROM refunds WHERE status = 'succeeded' AND unapplied_minor < amount_minor GROUP BY 1, 2, 4, 9
    UNION ALL
    SELECT merchant_id, mode, 'fulfilled', currency, status, false, product_id,
           coalesce(project_id, '00000000-0000-0000-0000-000000000000'), quarter_hour(created_at),
           sum(unit_price_minor * delivered_quantity), count(*), max(created_at)
    FROM fulfillments WHERE status NOT IN ('pending', 'processing') GROUP BY 1, 2, 4, 5, 7, 8, 9
    UNION ALL
    SELECT merchant_id, mode, 'delivered', '', status || ' ' || delivery_seconds(created_at, completed_at), true, product_id,
           coalesce(project_id, '00000000-0000-0000-0000-000000000000'), quarter_hour(created_at),
           sum(delivered_quantity), count(*), max(created_at)
    FROM fulfillments
    WHERE status NOT IN ('pending', 'processing') AND completed_at IS NOT NULL GROUP BY 1, 2, 5, 7, 8, 9;

-- Makes the totals of a merchant anew. Its accounts are locked, as by every posting. A payment that fails meanwhile waits for
-- its series, or is the first of a new one: then this fails and can be repeated.
CREATE FUNCTION running_totals_rebuild(p_merchant uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM ledger_accounts a WHERE a.owner = p_merchant ORDER BY a.id FOR NO KEY UPDATE;
    DELETE FROM running_totals r USING running_series s WHERE r.series_id = s.id AND s.merchant_id = p_merchant;
    DELETE FROM running_series WHERE merchant_id = p_merchant;
    CREATE TEMP TABLE running_parts ON COMMIT DROP AS
        SELECT mode, measure, currency, type, raised, method_id, project_id, starts_at, latest_at,
               sum(amount) OVER series AS amount, (sum(count) OVER series)::bigint AS count,
               lead(starts_at) OVER series IS NULL AS is_last
        FROM running_sums WHERE merchant_id = p_merchant
        WINDOW series AS (PARTITION BY mode, measure, currency, type, raised, method_id, project_id ORDER BY starts_at);
    INSERT INTO running_series (merchant_id, mode, measure, currency, type, raised, method_id, project_id, starts_at, amount,
                                count, latest_at)
    SELECT p_merchant, mode, measure, currency, type, raised, method_id, project_id, starts_at, amount, count, latest_at
    FROM running_parts WHERE is_last;
    INSERT INTO running_totals (series_id, starts_at, amount, count, latest_at)
    SELECT s.id, p.starts_at, p.amount, p.count, p.latest_at
    FROM running_parts p
    JOIN running_series s ON (s.merchant_id, s.mode, s.measure, s.currency, s.type, s.raised, s.method_id, s.project_id)
        = (p_merchant, p.mode, p.measure, p.currency, p.type, p.raised, p.method_id, p.project_id)
    WHERE NOT p.is_last;
    DROP TABLE running_parts;
END $$;
