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

CREATE TABLE webhook_events (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
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
    CONSTRAINT webhook_events_once UNIQUE (source_type, source_id, type, sequence),  -- a change is told once, ever
    CHECK ((destination_url IS NULL) = (destination_source = 'none')),
    CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
) WITH (fillfactor = 85);
CREATE INDEX webhook_events_of_merchant ON webhook_events (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX webhook_events_tests ON webhook_events (merchant_id, mode, created_at DESC) WHERE destination_source = 'test';

CREATE TABLE webhook_attempts (
    event_id uuid NOT NULL REFERENCES webhook_events,
    attempt int NOT NULL,
    trigger text NOT NULL CHECK (trigger IN ('automatic', 'manual', 'test')),
    status text NOT NULL CHECK (status IN ('succeeded', 'failed')),
    error text,
    http_status int,
    started_at timestamptz NOT NULL,
    duration_ms int NOT NULL,
    PRIMARY KEY (event_id, attempt),
    CHECK ((status = 'failed') = (error IS NOT NULL))
);

-- What is still to be sent, one row for an event, so that an event is never on its way twice at once.
-- Rows leave when nothing more is to be sent, so that the table stays small and hot.
CREATE TABLE webhook_deliveries (
    event_id uuid PRIMARY KEY REFERENCES webhook_events,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    destination_key bigint NOT NULL,
    run_at timestamptz NOT NULL,
    automatic_at timestamptz,  -- the next attempt of the schedule; null when the schedule is over
    trigger text NOT NULL DEFAULT 'automatic' CHECK (trigger IN ('automatic', 'test')),  -- what that attempt is called
    redeliveries int NOT NULL DEFAULT 0 CHECK (redeliveries >= 0),  -- asked for by hand and still to be sent
    held boolean NOT NULL DEFAULT false,  -- waits for a signing secret; run_at is then the end of its patience
    tries int NOT NULL DEFAULT 0,  -- attempts of the schedule that count
    lost int NOT NULL DEFAULT 0,  -- leases that ran out
    sending text CHECK (sending IN ('automatic', 'manual', 'test')),  -- what is on its way under the lease
    lease_token uuid,
    lease_until timestamptz,
    CHECK (automatic_at IS NOT NULL OR redeliveries > 0),
    CHECK ((lease_token IS NULL) = (lease_until IS NULL)),
    CHECK ((lease_token IS NULL) = (sending IS NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (run_at) WHERE lease_until IS NULL;
CREATE INDEX webhook_deliveries_by_destination ON webhook_deliveries (destination_key, run_at) WHERE lease_until IS NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX webhook_deliveries_held ON webhook_deliveries (merchant_id, mode) WHERE held;
CREATE INDEX webhook_deliveries_of_merchant ON webhook_deliveries (merchant_id, mode);
