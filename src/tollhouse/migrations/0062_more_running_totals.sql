-- Running totals of payments that failed, by the time of their failure, and of fulfillments that ended, by their creation:
-- counts and charges by status and product, and deliveries by how long they took.
ALTER TABLE running_series DROP CONSTRAINT running_series_measure_check;
ALTER TABLE running_series ADD CONSTRAINT running_series_measure_check
    CHECK (measure IN ('entries', 'succeeded', 'failed', 'refunded', 'fulfilled', 'delivered')) NOT VALID;
COMMENT ON COLUMN running_series.type IS
    'of an entry its type, of a fulfillment its status, of a delivery the status and the seconds it took';
COMMENT ON COLUMN running_series.method_id IS
    'of the payment that an entry belongs to, or the product of a fulfillment; empty if there is none';
COMMENT ON COLUMN running_series.project_id IS 'of the payment or fulfillment; zero if there is none';

-- Whole seconds, rounded up; above 100 to two digits, so that there are few different ones.
CREATE FUNCTION delivery_seconds(p_from timestamptz, p_to timestamptz) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT CASE WHEN s > 100 THEN ceil(s / 10 ^ (length(s::text) - 2)) * 10 ^ (length(s::text) - 2) ELSE s END::numeric(20, 0)
    FROM (SELECT greatest(ceil(extract(epoch FROM p_to - p_from)), 0)::numeric(20, 0) AS s) AS whole
$$;

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

-- Makes the totals of a merchant anew, of all measures or of these. Its accounts are locked, as by every posting. A payment
-- that fails meanwhile waits for its series, or is the first of a new one: then this fails and can be repeated.
DROP FUNCTION running_totals_rebuild(uuid);
CREATE FUNCTION running_totals_rebuild(
    p_merchant uuid,
    p_measures text[] DEFAULT ARRAY['entries', 'succeeded', 'failed', 'refunded', 'fulfilled', 'delivered']
) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM ledger_accounts a WHERE a.owner = p_merchant ORDER BY a.id FOR NO KEY UPDATE;
    DELETE FROM running_totals r USING running_series s
    WHERE r.series_id = s.id AND s.merchant_id = p_merchant AND s.measure = ANY (p_measures);
    DELETE FROM running_series WHERE merchant_id = p_merchant AND measure = ANY (p_measures);
    CREATE TEMP TABLE running_parts ON COMMIT DROP AS
        SELECT mode, measure, currency, type, raised, method_id, project_id, starts_at, latest_at,
               sum(amount) OVER series AS amount, (sum(count) OVER series)::bigint AS count,
               lead(starts_at) OVER series IS NULL AS is_last
        FROM (
            SELECT mode, 'entries' AS measure, currency, type, raised, method_id, project_id,
                   quarter_hour(at) AS starts_at, sum(amount) AS amount, count(DISTINCT transaction_id) AS count,
                   max(created_at) AS latest_at
            FROM running_entries WHERE merchant_id = p_merchant AND 'entries' = ANY (p_measures) GROUP BY 1, 3, 4, 5, 6, 7, 8
            UNION ALL
            SELECT mode, 'succeeded', currency, '', true, method_id, '00000000-0000-0000-0000-000000000000',
                   quarter_hour(succeeded_at), sum(credited_minor), count(*), max(succeeded_at)
            FROM transactions
            WHERE merchant_id = p_merchant AND succeeded_at IS NOT NULL AND 'succeeded' = ANY (p_measures) GROUP BY 1, 3, 6, 8
            UNION ALL
            SELECT mode, 'failed', currency, '', true, '', '00000000-0000-0000-0000-000000000000',
                   quarter_hour(updated_at), 0, count(*), max(updated_at)
            FROM transactions
            WHERE merchant_id = p_merchant AND status = 'failed' AND 'failed' = ANY (p_measures) GROUP BY 1, 3, 8
            UNION ALL
            SELECT mode, 'refunded', currency, '', false, '', '00000000-0000-0000-0000-000000000000',
                   quarter_hour(created_at), sum(amount_minor - unapplied_minor), count(*), max(created_at)
            FROM refunds
            WHERE merchant_id = p_merchant AND status = 'succeeded' AND unapplied_minor < amount_minor
              AND 'refunded' = ANY (p_measures) GROUP BY 1, 3, 8
            UNION ALL
            SELECT mode, 'fulfilled', currency, status, false, product_id,
                   coalesce(project_id, '00000000-0000-0000-0000-000000000000'), quarter_hour(created_at),
                   sum(unit_price_minor * delivered_quantity), count(*), max(created_at)
            FROM fulfillments
            WHERE merchant_id = p_merchant AND status NOT IN ('pending', 'processing') AND 'fulfilled' = ANY (p_measures)
            GROUP BY 1, 3, 4, 6, 7, 8
            UNION ALL
            SELECT mode, 'delivered', '', status || ' ' || delivery_seconds(created_at, completed_at), true, product_id,
                   coalesce(project_id, '00000000-0000-0000-0000-000000000000'), quarter_hour(created_at),
                   sum(delivered_quantity), count(*), max(created_at)
            FROM fulfillments
            WHERE merchant_id = p_merchant AND status NOT IN ('pending', 'processing') AND completed_at IS NOT NULL
              AND 'delivered' = ANY (p_measures)
            GROUP BY 1, 3, 4, 6, 7, 8) AS parts
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
