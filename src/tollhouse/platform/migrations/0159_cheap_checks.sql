-- Functions of CHECK constraints in PL/pgSQL: one in SQL is parsed anew by every statement that writes to the table, since the
-- planner asks whether it could inline it. What a suspension cancels is found by one function.

CREATE OR REPLACE FUNCTION limits_are_valid(p_limits jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    RETURN (
        SELECT p_limits ?& '{limits,recipients,expires_at}'
           AND p_limits - '{limits,recipients,expires_at}'::text[] = '{}' AND jsonb_typeof(p_limits -> 'limits') = 'array'
           AND jsonb_typeof(p_limits -> 'recipients') IN ('array', 'null')
           AND jsonb_typeof(p_limits -> 'expires_at') IN ('string', 'null')
           AND p_limits <> '{"limits": [], "recipients": null, "expires_at": null}'
           AND (SELECT count(*) = count(DISTINCT (e -> 'kind', e -> 'currency')) FROM jsonb_array_elements(p_limits -> 'limits') e)
           AND NOT EXISTS (
               SELECT FROM jsonb_array_elements(p_limits -> 'limits') e
               WHERE NOT coalesce(
                   e ->> 'kind' IN ('withdrawals', 'refunds', 'balance_payments', 'conversions', 'fulfillments')
                   AND e ->> 'currency' ~ '^[A-Z0-9]{2,12}$'
                   AND coalesce((e ->> 'per_transaction_minor')::bigint, 1) BETWEEN 1 AND 9007199254740991
                   AND coalesce((e ->> 'per_day_minor')::bigint, 1) BETWEEN 1 AND 9007199254740991
                   AND coalesce((e ->> 'per_month_minor')::bigint, 1) BETWEEN 1 AND 9007199254740991, false))
    );
END $$;
CREATE OR REPLACE FUNCTION line_items_total(items jsonb) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT coalesce(sum((item ->> 'quantity')::numeric * (item ->> 'unit_amount_minor')::numeric), 0)
        FROM jsonb_array_elements(items) item
    );
END $$;

CREATE FUNCTION proposals_cancel_of_suspended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_merchant uuid := CASE TG_TABLE_NAME WHEN 'merchants' THEN NEW.id::text END;
    v_client text := CASE TG_TABLE_NAME WHEN 'oauth_clients' THEN NEW.id::text END;
BEGIN
    UPDATE proposals p SET status = 'canceled', ended_at = NEW.suspended_at
    WHERE p.status = 'waiting' AND (p.merchant_id = v_merchant OR p.grant_id IN (
        SELECT g.id FROM oauth_clients c JOIN oauth_grants g ON g.client_id = c.id
        WHERE c.merchant_id = v_merchant OR c.id = v_client));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER suspension_cancels_proposals AFTER UPDATE OF suspended_at ON merchants
    FOR EACH ROW WHEN (OLD.suspended_at IS NULL AND NEW.suspended_at IS NOT NULL)
    EXECUTE FUNCTION proposals_cancel_of_suspended();
CREATE OR REPLACE TRIGGER suspension_cancels_proposals AFTER UPDATE OF suspended_at ON oauth_clients
    FOR EACH ROW WHEN (OLD.suspended_at IS NULL AND NEW.suspended_at IS NOT NULL)
    EXECUTE FUNCTION proposals_cancel_of_suspended();
DROP FUNCTION proposals_cancel_of_merchant(), proposals_cancel_of_client();
