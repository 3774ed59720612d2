-- Limits of connections and API keys: what they may withdraw, refund, pay from the balance, convert and order.

-- {"limits": [{"kind", "currency", "per_transaction_minor", "per_day_minor", "per_month_minor"}], "recipients": [ids] or null,
-- "expires_at": time or null}. No limits are NULL.
CREATE FUNCTION limits_are_valid(p_limits jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
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
$$;

ALTER TABLE oauth_grants
    ADD COLUMN proposals_only boolean NOT NULL DEFAULT false,
    ADD COLUMN limits jsonb CONSTRAINT oauth_grants_limits CHECK (limits_are_valid(limits));
CREATE INDEX oauth_grants_limited ON oauth_grants (merchant_id, mode, client_id) WHERE limits IS NOT NULL;
ALTER TABLE api_keys
    ADD COLUMN proposals_only boolean NOT NULL DEFAULT false,
    ADD COLUMN limits jsonb CONSTRAINT api_keys_limits CHECK (limits_are_valid(limits)),
    ADD COLUMN allowed_networks cidr[] CONSTRAINT api_keys_allowed_networks CHECK (cardinality(allowed_networks) BETWEEN 1 AND 20);
COMMENT ON COLUMN api_keys.allowed_networks IS 'where requests may come from; null: from anywhere';
-- What was requested, and what was granted until the code is exchanged.
ALTER TABLE oauth_requests ADD COLUMN limits jsonb CONSTRAINT oauth_requests_limits CHECK (limits_are_valid(limits));
ALTER TABLE oauth_codes
    ADD COLUMN proposals_only boolean NOT NULL DEFAULT false,
    ADD COLUMN limits jsonb CONSTRAINT oauth_codes_limits CHECK (limits_are_valid(limits));

-- The connection or API key that asked for it; null for the dashboard and the service itself.
ALTER TABLE withdrawals ADD COLUMN credential_id uuid;
ALTER TABLE refunds ADD COLUMN credential_id uuid;
ALTER TABLE balance_payments ADD COLUMN credential_id uuid;
ALTER TABLE conversions ADD COLUMN credential_id uuid;
ALTER TABLE fulfillments ADD COLUMN credential_id uuid;

CREATE TABLE limit_uses (
    source_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('withdrawals', 'refunds', 'balance_payments', 'conversions', 'fulfillments')),
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    spender text NOT NULL,
    credential_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    given_back_minor bigint NOT NULL DEFAULT 0 CHECK (given_back_minor BETWEEN 0 AND amount_minor),
    used_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, source_id, kind)
);
COMMENT ON COLUMN limit_uses.spender IS 'the application, with all its connections, or the API key';
COMMENT ON COLUMN limit_uses.used_at IS 'by the test clock';
CREATE INDEX limit_uses_of_spender ON limit_uses (merchant_id, mode, spender, kind, currency, used_at);
CREATE INDEX limit_uses_by_time ON limit_uses (used_at);

-- A connection without limits counts, too, where another one of its application has some.
CREATE FUNCTION limits_of_credential(p_credential uuid)
RETURNS TABLE (merchant_id uuid, mode text, spender text, limits jsonb, is_counted boolean) LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT g.merchant_id, g.mode, g.client_id, g.limits, g.limits IS NOT NULL OR EXISTS (
               SELECT FROM oauth_grants o
               WHERE (o.merchant_id, o.mode, o.client_id) = (g.merchant_id, g.mode, g.client_id) AND o.limits IS NOT NULL)
    FROM oauth_grants g WHERE g.id = p_credential
    UNION ALL
    SELECT k.merchant_id, k.mode, k.id::text, k.limits, k.limits IS NOT NULL FROM api_keys k WHERE k.id = p_credential
$$;

-- Those who spend with one application or key in an environment wait for each other until the end of the transaction.
CREATE FUNCTION limits_lock(p_merchant uuid, p_mode text, p_spender text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(format('limits %s %s %s', p_merchant, p_mode, p_spender), 0))
$$;

CREATE FUNCTION limits_replace(p_credential uuid, p_limits jsonb) RETURNS void LANGUAGE sql AS $$
    UPDATE oauth_grants SET limits = p_limits WHERE id = p_credential;
    UPDATE api_keys SET limits = p_limits WHERE id = p_credential;
$$;

-- Record a use. No row: it is within the limits, or there are none. A row: the limit that refuses it, and nothing is recorded.
CREATE FUNCTION limits_spend(
    p_credential uuid, p_kind text, p_source uuid, p_currency text, p_amount bigint, p_rail text, p_account text, p_now timestamptz
) RETURNS TABLE (reason text, period text, limit_minor bigint, remaining_minor bigint, resets_at timestamptz)
LANGUAGE plpgsql ROWS 1 AS $$
DECLARE
    c record;
    bound record;
    entry jsonb;
    spent bigint;
    present timestamptz;
BEGIN
    SELECT * INTO STRICT c FROM limits_of_credential(p_credential);
    PERFORM limits_lock(c.merchant_id, c.mode, c.spender);
    SELECT * INTO STRICT c FROM limits_of_credential(p_credential);
    IF c.limits IS NULL THEN
        RETURN;
    END IF;
    present := time_of_environment(c.merchant_id, c.mode, p_now);
    SELECT e INTO entry FROM jsonb_array_elements(c.limits -> 'limits') e
    WHERE (e ->> 'kind', e ->> 'currency') = (p_kind, p_currency);
    reason := CASE
        WHEN (c.limits ->> 'expires_at')::timestamptz <= present THEN 'expired'
        WHEN p_kind = 'withdrawals' AND c.limits -> 'recipients' <> 'null' AND NOT EXISTS (
            SELECT FROM withdrawal_recipients r
            WHERE (r.merchant_id, r.mode, r.rail, r.account) = (c.merchant_id, c.mode, p_rail, p_account)
              AND c.limits -> 'recipients' ? r.id::text) THEN 'recipient'
        WHEN entry IS NULL AND c.limits @> jsonb_build_object('limits', jsonb_build_array(jsonb_build_object('kind', p_kind)))
            THEN 'currency'
    END;
    IF reason IS NOT NULL THEN
        RETURN QUERY SELECT reason, 'transaction', 0::bigint, 0::bigint, NULL::timestamptz;
        RETURN;
    END IF;
    IF p_amount > (entry ->> 'per_transaction_minor')::bigint THEN
        RETURN QUERY SELECT 'amount', 'transaction', (entry ->> 'per_transaction_minor')::bigint,
                            (entry ->> 'per_transaction_minor')::bigint, NULL::timestamptz;
        RETURN;
    END IF;
    FOR bound IN
        SELECT * FROM (VALUES ('day', (entry ->> 'per_day_minor')::bigint, interval '24 hours'),
                              ('month', (entry ->> 'per_month_minor')::bigint, interval '30 days')) b (period, most, span)
        WHERE b.most IS NOT NULL
    LOOP
        SELECT coalesce(sum(u.amount_minor - u.given_back_minor), 0) INTO spent FROM limit_uses u
        WHERE (u.merchant_id, u.mode, u.spender, u.kind, u.currency)
              = (c.merchant_id, c.mode, c.spender, p_kind, p_currency) AND u.used_at > present - bound.span;
        IF spent + p_amount > bound.most THEN
            -- When as much has left the window as this needs; never for more than the limit itself.
            RETURN QUERY SELECT 'amount', bound.period, bound.most, greatest(bound.most - spent, 0), (
                SELECT min(w.used_at) + bound.span FROM (
                    SELECT u.used_at, sum(u.amount_minor - u.given_back_minor) OVER (ORDER BY u.used_at) AS freed
                    FROM limit_uses u
                    WHERE (u.merchant_id, u.mode, u.spender, u.kind, u.currency)
                          = (c.merchant_id, c.mode, c.spender, p_kind, p_currency) AND u.used_at > present - bound.span) w
                WHERE spent - w.freed + p_amount <= bound.most);
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO limit_uses (source_id, kind, merchant_id, mode, spender, credential_id, currency, amount_minor, used_at)
    VALUES (p_source, p_kind, c.merchant_id, c.mode, c.spender, p_credential, p_currency, p_amount, present);
END $$;

-- What a limited credential asks for has its uses: arguments are the kind, and the columns of the currency and of amounts.
CREATE FUNCTION limits_require_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c record;
    kinds text[] := ARRAY[TG_ARGV[0]];
    made jsonb;
    code text;
    amount bigint;
BEGIN
    SELECT * INTO c FROM limits_of_credential(NEW.credential_id);
    IF NOT FOUND OR (c.merchant_id, c.mode) <> (NEW.merchant_id, NEW.mode) THEN
        RAISE EXCEPTION 'a connection or key asks for what is of its merchant and mode'
            USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'limits_own_credential';
    END IF;
    IF NOT c.is_counted THEN
        RETURN NULL;
    END IF;
    made := to_jsonb(NEW);
    code := made ->> TG_ARGV[1];
    amount := (SELECT sum((made ->> name)::bigint) FROM unnest(string_to_array(TG_ARGV[2], ' ')) name);
    IF TG_ARGV[0] = 'refunds' AND EXISTS (
        SELECT FROM outgoing_transfers o WHERE o.id = NEW.id AND o.receiver IS DISTINCT FROM o.payer_account) THEN
        kinds := kinds || 'withdrawals'::text;
    END IF;
    IF c.limits IS NULL THEN
        INSERT INTO limit_uses (source_id, kind, merchant_id, mode, spender, credential_id, currency, amount_minor, used_at)
        SELECT NEW.id, k, c.merchant_id, c.mode, c.spender, NEW.credential_id, code, amount,
               time_of_environment(c.merchant_id, c.mode, NEW.created_at)
        FROM unnest(kinds) k ON CONFLICT (merchant_id, source_id, kind) DO NOTHING;
    ELSIF EXISTS (
        SELECT FROM unnest(kinds) k
        WHERE NOT EXISTS (SELECT FROM limit_uses u
                          WHERE (u.merchant_id, u.source_id, u.kind, u.spender, u.currency)
                                = (c.merchant_id, NEW.id, k, c.spender, code)
                            AND u.amount_minor >= amount)) THEN
        RAISE EXCEPTION 'what a limited connection or key asks for counts towards its limits'
            USING ERRCODE = 'serialization_failure', TABLE = TG_TABLE_NAME, CONSTRAINT = 'limits_used';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER limits_used AFTER INSERT ON withdrawals FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION limits_require_use('withdrawals', 'currency', 'debit_minor');
CREATE TRIGGER limits_used AFTER INSERT ON refunds FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION limits_require_use('refunds', 'currency', 'amount_minor network_fee_minor');
CREATE TRIGGER limits_used AFTER INSERT ON balance_payments FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION limits_require_use('balance_payments', 'currency', 'amount_minor');
CREATE TRIGGER limits_used AFTER INSERT ON conversions FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION limits_require_use('conversions', 'from_currency', 'from_amount_minor');
CREATE TRIGGER limits_used AFTER INSERT ON fulfillments FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION limits_require_use('fulfillments', 'currency', 'cost_minor');

-- A withdrawal or refund that does not leave, or came back, gives everything back; a hold gives back what it releases.
CREATE FUNCTION limits_give_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE limit_uses SET given_back_minor = amount_minor WHERE (merchant_id, source_id) = (NEW.merchant_id, NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER limits_given_back AFTER UPDATE OF closed_at ON outgoing_transfers FOR EACH ROW
    WHEN (OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL) EXECUTE FUNCTION limits_give_back();
CREATE FUNCTION limits_give_back_released() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE limit_uses SET given_back_minor = least(amount_minor, given_back_minor + NEW.released - OLD.released)
    WHERE (merchant_id, source_id) = (NEW.merchant_id, NEW.source_id);
    RETURN NULL;
END $$;
CREATE TRIGGER limits_given_back AFTER UPDATE OF released ON ledger_holds FOR EACH ROW
    WHEN (NEW.released > OLD.released AND NEW.source_type IN ('balance_payment', 'fulfillment'))
    EXECUTE FUNCTION limits_give_back_released();
