-- The people who run a house, at its pages; and what those pages show of how the house is.

CREATE TABLE operators (
    id uuid PRIMARY KEY,
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,  -- the e-mail folded: one account however it is spelt
    password_hash text,  -- null: has yet to choose one
    link_hash bytea UNIQUE CHECK (octet_length(link_hash) = 32),  -- of the one-time link on which it is chosen
    link_expires_at timestamptz,
    created_at timestamptz NOT NULL,
    closed_at timestamptz,
    CHECK ((link_hash IS NULL) = (link_expires_at IS NULL)),
    CHECK (password_hash IS NULL OR link_hash IS NULL),
    CHECK (closed_at IS NULL OR password_hash IS NULL AND link_hash IS NULL)
);

-- Apart from the sessions of merchants' people: a row of one table can never open what the other's opens.
CREATE TABLE operator_sessions (
    id_hash bytea PRIMARY KEY CHECK (octet_length(id_hash) = 32),
    operator_id uuid NOT NULL REFERENCES operators,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE INDEX operator_sessions_of_operator ON operator_sessions (operator_id);
CREATE INDEX operator_sessions_by_last_use ON operator_sessions (last_seen_at);

-- Signs of life. Unlogged: after a crash of the database every worker soon gives another.
CREATE UNLOGGED TABLE worker_signs (
    worker_id uuid PRIMARY KEY,
    host text NOT NULL,
    pid int NOT NULL,
    version text NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The last look at the invariants; the log has them all.
CREATE TABLE invariant_watch (
    the_last boolean PRIMARY KEY DEFAULT true CHECK (the_last),
    looked_at timestamptz NOT NULL,
    broken text[] NOT NULL
);

-- Which events failed of late, so that they are found among the many that did not. A trigger keeps it, for the events' own
-- rows must not have an index that their every change would be written into. Rows leave after some days; nothing refers
-- to the events, whose months are dropped.
CREATE TABLE webhook_failures (
    event_id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    failed_at timestamptz NOT NULL
);
CREATE INDEX webhook_failures_newest ON webhook_failures (failed_at DESC);
CREATE INDEX webhook_failures_of_merchant ON webhook_failures (merchant_id, mode, failed_at DESC);

CREATE FUNCTION webhook_failures_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'failed' THEN
        INSERT INTO webhook_failures (event_id, merchant_id, mode, failed_at)
        VALUES (NEW.id, NEW.merchant_id, NEW.mode, now()) ON CONFLICT (event_id) DO NOTHING;
    ELSE
        DELETE FROM webhook_failures WHERE event_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_failures_follow AFTER UPDATE OF status ON webhook_events FOR EACH ROW
    WHEN ((OLD.status = 'failed') <> (NEW.status = 'failed')) EXECUTE FUNCTION webhook_failures_follow();
