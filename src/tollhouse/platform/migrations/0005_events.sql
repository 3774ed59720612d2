-- Events and their delivery. An event's bytes are made in the transaction of the deed, stored, signed and sent unchanged.

CREATE TABLE webhook_environments (
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    delivery_disabled_at timestamptz,
    url text,  -- the saved address, deprecated
    destination_key bigint,  -- of the saved address
    event_types text[],
    created_at timestamptz,  -- of the saved address
    updated_at timestamptz,
    PRIMARY KEY (merchant_id, mode),
    CHECK ((url IS NULL) = (destination_key IS NULL)),
    CHECK ((url IS NULL) = (event_types IS NULL)),
    CHECK ((url IS NULL) = (created_at IS NULL)),
    CHECK ((url IS NULL) = (updated_at IS NULL))
);

CREATE TABLE webhook_secrets (
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    version int NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'active', 'retired')),
    key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamptz NOT NULL,
    activated_at timestamptz,
    retired_at timestamptz,
    PRIMARY KEY (merchant_id, mode, version),
    CHECK (state <> 'active' OR activated_at IS NOT NULL),
    CHECK ((state = 'retired') = (retired_at IS NOT NULL))
);
CREATE UNIQUE INDEX webhook_secrets_one_active ON webhook_secrets (merchant_id, mode) WHERE state = 'active';
CREATE UNIQUE INDEX webhook_secrets_one_pending ON webhook_secrets (merchant_id, mode) WHERE state = 'pending';

-- A change is told once, ever: these stay when the events themselves are long dropped. No index over partitions by another
-- column could promise it.
CREATE TABLE webhook_event_keys (
    source_id uuid NOT NULL,
    source_type text NOT NULL,
    type text NOT NULL,
    sequence bigint NOT NULL,
    CONSTRAINT webhook_events_once PRIMARY KEY (source_id, source_type, type, sequence)
);

-- Partitioned by month of birth, which the id tells (UUID version 7), so that forgetting is a DROP. No foreign keys to or
-- from them: dropping a partition would lock the other table too.
CREATE TABLE webhook_events (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    type text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    sequence bigint NOT NULL,
    body bytea NOT NULL,
    destination_url text,
    destination_source text NOT NULL CHECK (destination_source IN ('request', 'saved', 'test', 'none')),
    status text NOT NULL CHECK (status IN ('pending', 'retrying', 'delivered', 'failed', 'skipped', 'canceled', 'held')),
    attempts int NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    delivered_at timestamptz,
    created_at timestamptz NOT NULL,
    CHECK ((destination_url IS NULL) = (destination_source = 'none')),
    CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
) PARTITION BY RANGE (id);
CREATE INDEX webhook_events_of_merchant ON webhook_events (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX webhook_events_tests ON webhook_events (merchant_id, mode, created_at DESC) WHERE destination_source = 'test';

CREATE TABLE webhook_attempts (
    event_id uuid NOT NULL,
    attempt int NOT NULL,
    trigger text NOT NULL CHECK (trigger IN ('automatic', 'manual', 'test')),
    status text NOT NULL CHECK (status IN ('succeeded', 'failed')),
    error text,
    http_status int,
    started_at timestamptz NOT NULL,
    duration_ms int NOT NULL,
    PRIMARY KEY (event_id, attempt),
    CHECK ((status = 'failed') = (error IS NOT NULL))
) PARTITION BY RANGE (event_id);

-- The smallest id that can be born at a moment.
CREATE FUNCTION webhook_first_id(p_moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT rpad(lpad(to_hex(floor(extract(epoch FROM p_moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- Make the partitions of this month and the next three. Cheap when they are there; any process may call it. A table that is
-- attached holds up no reader or writer of the others. The very first one takes everything older too.
CREATE FUNCTION webhook_make_partitions(p_now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_start timestamptz;
    v_name text;
    v_from text;
    v_parent text;
BEGIN
    FOR v_month IN 0..3 LOOP
        v_start := (date_trunc('month', p_now AT TIME ZONE 'UTC') + make_interval(months => v_month)) AT TIME ZONE 'UTC';
        FOREACH v_parent IN ARRAY ARRAY['webhook_events', 'webhook_attempts'] LOOP
            v_name := v_parent || '_' || to_char(v_start AT TIME ZONE 'UTC', 'YYYYMM');
            CONTINUE WHEN to_regclass(v_name) IS NOT NULL;
            EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', v_parent);
            CONTINUE WHEN to_regclass(v_name) IS NOT NULL;  -- another process made it while we waited
            v_from := CASE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = v_parent::regclass)
                           THEN quote_literal(webhook_first_id(v_start)) ELSE 'MINVALUE' END;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)', v_name, v_parent,
                           CASE v_parent WHEN 'webhook_events' THEN 85 ELSE 100 END);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', v_parent, v_name, v_from,
                           webhook_first_id((v_start AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'));
        END LOOP;
    END LOOP;
END $$;
SELECT webhook_make_partitions(now());

-- What is to be sent now, one row for an event, so that an event is never on its way twice at once. Rows leave when nothing
-- more is to be sent, or not soon, so that the table stays small and hot.
CREATE TABLE webhook_deliveries (
    event_id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    destination_key bigint NOT NULL,
    lane smallint NOT NULL DEFAULT 0 CHECK (lane BETWEEN 0 AND 2),  -- first attempts, later ones, what was set aside
    run_at timestamptz NOT NULL,
    automatic_at timestamptz,  -- the next attempt of the schedule; null when the schedule is over
    trigger text NOT NULL DEFAULT 'automatic' CHECK (trigger IN ('automatic', 'test')),  -- what that attempt is called
    redeliveries int NOT NULL DEFAULT 0 CHECK (redeliveries >= 0),  -- asked for by hand and still to be sent
    held boolean NOT NULL DEFAULT false,  -- no signing secret came in time: goes only if there is one after all
    tries int NOT NULL DEFAULT 0,  -- attempts of the schedule that count
    lost int NOT NULL DEFAULT 0,  -- leases that ran out
    sending text CHECK (sending IN ('automatic', 'manual', 'test')),  -- what is on its way under the lease
    lease_token uuid,
    lease_until timestamptz,
    CHECK (automatic_at IS NOT NULL OR redeliveries > 0),
    CHECK ((lease_token IS NULL) = (lease_until IS NULL)),
    CHECK ((lease_token IS NULL) = (sending IS NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX webhook_deliveries_ready ON webhook_deliveries (lane, destination_key, run_at) WHERE lease_until IS NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX webhook_deliveries_of_merchant ON webhook_deliveries (merchant_id, mode);

-- What is to be sent later: retries of the schedule, and what is held for want of a signing secret. The worker moves a row
-- to the table above when its time has come. A redelivery takes it there at once.
CREATE TABLE webhook_deliveries_later (
    event_id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    destination_key bigint NOT NULL,
    run_at timestamptz NOT NULL,  -- the next attempt of the schedule; of what is held, the end of its patience
    trigger text NOT NULL CHECK (trigger IN ('automatic', 'test')),
    held boolean NOT NULL DEFAULT false,
    tries int NOT NULL DEFAULT 0,
    lost int NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX webhook_deliveries_later_due ON webhook_deliveries_later (run_at);
CREATE INDEX webhook_deliveries_later_of_merchant ON webhook_deliveries_later (merchant_id, mode);
CREATE INDEX webhook_deliveries_later_held ON webhook_deliveries_later (merchant_id, mode) WHERE held;
