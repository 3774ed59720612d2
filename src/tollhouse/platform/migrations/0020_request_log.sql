-- What credentials asked of the Integration API, for their merchant to look up: some days of it, everything redacted. It is
-- written behind the answers, in batches; what a crash takes with it is lost.

-- Partitioned by the day of birth, which the id tells (UUID version 7), so that forgetting is a DROP. No foreign keys: they
-- would cost every line two look-ups, and dropping a partition would lock the other tables too.
CREATE TABLE api_requests (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    created_at timestamptz NOT NULL,
    request_id uuid NOT NULL,  -- X-Request-Id, which the caller may have chosen, and more than once
    method text NOT NULL,
    path text NOT NULL,
    query text NOT NULL,
    status int NOT NULL,
    error text,
    duration_us int NOT NULL,
    credential text NOT NULL,  -- an API key's id, or an application's client_id
    grant_id uuid,
    key_hash bytea CHECK (octet_length(key_hash) = 32),  -- of the Idempotency-Key
    replayed boolean NOT NULL,
    asked text,  -- redacted JSON
    answered text,
    PRIMARY KEY (merchant_id, mode, id)
) PARTITION BY RANGE (id);

-- Make the partitions of today and the next two days. Cheap when they are there; any process may call it. A table that is
-- attached holds up no reader or writer of the others.
CREATE FUNCTION api_requests_make_partitions(p_now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_start timestamptz;
    v_name text;
BEGIN
    FOR v_day IN 0..2 LOOP
        v_start := (date_trunc('day', p_now AT TIME ZONE 'UTC') + make_interval(days => v_day)) AT TIME ZONE 'UTC';
        v_name := 'api_requests_' || to_char(v_start AT TIME ZONE 'UTC', 'YYYYMMDD');
        IF to_regclass(v_name) IS NULL THEN
            LOCK TABLE api_requests IN SHARE UPDATE EXCLUSIVE MODE;
            CONTINUE WHEN to_regclass(v_name) IS NOT NULL;  -- another process made it while we waited
            EXECUTE format('CREATE TABLE %I (LIKE api_requests INCLUDING ALL)', v_name);
            EXECUTE format('ALTER TABLE api_requests ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', v_name,
                           webhook_first_id(v_start), webhook_first_id(v_start + interval '1 day'));
        END IF;
    END LOOP;
END $$;
