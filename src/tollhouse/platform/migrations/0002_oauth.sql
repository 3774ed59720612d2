-- OAuth: applications, authorization requests, codes, grants, access tokens.
-- A cascade is one row: requests and codes live while their auth_epoch is the client's, grants while their grant_epoch is.

CREATE TABLE oauth_clients (
    id text PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,  -- the owner
    client_type text NOT NULL CHECK (client_type IN ('confidential', 'public')),
    name text NOT NULL,
    description text NOT NULL,
    website_url text,
    redirect_uris text[] NOT NULL CHECK (cardinality(redirect_uris) BETWEEN 1 AND 10),
    scope_mask int NOT NULL CHECK (scope_mask & ((1 << 18) - 1) <> 0),
    status text NOT NULL CHECK (status IN ('enabled', 'paused', 'revoked')),
    version int NOT NULL DEFAULT 1,
    auth_epoch int NOT NULL DEFAULT 1,
    grant_epoch int NOT NULL DEFAULT 1,
    secret_hash bytea CHECK (octet_length(secret_hash) = 32),
    secret_hint text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CHECK ((client_type = 'confidential') = (secret_hash IS NOT NULL)),
    CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX oauth_clients_of_owner ON oauth_clients (merchant_id, created_at DESC, id DESC);

CREATE TABLE oauth_requests (
    id_hash bytea PRIMARY KEY CHECK (octet_length(id_hash) = 32),
    client_id text NOT NULL REFERENCES oauth_clients,
    auth_epoch int NOT NULL,
    merchant_id uuid REFERENCES merchants,  -- who may answer: the first merchant that opened it
    redirect_uri text NOT NULL,
    scope_mask int NOT NULL CHECK (scope_mask & ((1 << 18) - 1) <> 0),
    state text NOT NULL CHECK (char_length(state) BETWEEN 1 AND 512),
    challenge bytea NOT NULL CHECK (octet_length(challenge) = 32),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    mac_key_id text NOT NULL,  -- the key of the ring that vouches for its form
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    decision text CHECK (decision IN ('allowed', 'denied')),
    decided_at timestamptz,
    CHECK ((decision IS NULL) = (decided_at IS NULL))
);
CREATE INDEX oauth_requests_by_age ON oauth_requests (created_at);

CREATE TABLE oauth_codes (
    code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
    client_id text NOT NULL REFERENCES oauth_clients,
    auth_epoch int NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    redirect_uri text NOT NULL,
    challenge bytea NOT NULL CHECK (octet_length(challenge) = 32),
    scope_mask int NOT NULL CHECK (scope_mask & ((1 << 18) - 1) <> 0),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    grant_id uuid,
    CHECK ((used_at IS NULL) = (grant_id IS NULL))
);
CREATE INDEX oauth_codes_by_age ON oauth_codes (created_at);

CREATE TABLE oauth_grants (
    id uuid PRIMARY KEY,
    client_id text NOT NULL REFERENCES oauth_clients,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    scope_mask int NOT NULL,
    grant_epoch int NOT NULL,
    refresh_generation int NOT NULL DEFAULT 0,
    refresh_hash bytea CHECK (octet_length(refresh_hash) = 32),  -- null: no refresh token is out
    mac_key_id text,  -- the key of the ring that vouches for its first refresh token; null: it has none
    revoked_at timestamptz,
    revoked_because text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CHECK ((revoked_at IS NULL) = (revoked_because IS NULL)),
    CHECK (refresh_hash IS NULL OR mac_key_id IS NOT NULL),
    CHECK (revoked_at IS NOT NULL OR scope_mask & ((1 << 18) - 1) <> 0),  -- a living grant holds an API permission
    CHECK (refresh_hash IS NULL OR scope_mask & (1 << 18) <> 0)           -- no refresh token without offline_access
) WITH (fillfactor = 80);  -- no index holds a column that a refresh changes, so rotation stays in the page
CREATE INDEX oauth_grants_of_client ON oauth_grants (client_id, created_at DESC, id DESC);
CREATE INDEX oauth_grants_of_merchant ON oauth_grants (merchant_id, created_at DESC, id DESC);

-- When and why all grants of an epoch ended. One row per pause, revocation, rotation or disconnecting of all; the grants
-- themselves are not written to, however many they are.
CREATE TABLE oauth_grant_cutoffs (
    client_id text NOT NULL REFERENCES oauth_clients,
    grant_epoch int NOT NULL,
    revoked_at timestamptz NOT NULL,
    revoked_because text NOT NULL,
    PRIMARY KEY (client_id, grant_epoch)
);

CREATE TABLE oauth_grant_activity (
    grant_id uuid PRIMARY KEY,
    last_used_at timestamptz NOT NULL
) WITH (fillfactor = 70);

-- Partitioned by their end of life, so that cleaning is a DROP. No foreign key: it would write to the grant per token.
CREATE TABLE oauth_access_tokens (
    token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    grant_id uuid NOT NULL,
    scope_mask int NOT NULL CHECK (scope_mask & ((1 << 18) - 1) <> 0),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (token_hash, expires_at)
) PARTITION BY RANGE (expires_at);

-- Make the partitions of the coming day, six hours each. Cheap when they are there; any process may call it. A table that
-- is attached holds up no reader or writer of the others, as CREATE TABLE ... PARTITION OF would.
CREATE FUNCTION oauth_make_token_partitions(p_now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_start timestamptz;
    v_name text;
BEGIN
    FOR v_slot IN 0..4 LOOP
        v_start := to_timestamp((floor(extract(epoch FROM p_now) / 21600) + v_slot) * 21600);
        v_name := 'oauth_access_tokens_' || to_char(v_start AT TIME ZONE 'UTC', 'YYYYMMDDHH24');
        IF to_regclass(v_name) IS NULL THEN
            -- What ATTACH takes anyway. An advisory lock would not do: waiting for one, we do not learn of new tables.
            LOCK TABLE oauth_access_tokens IN SHARE UPDATE EXCLUSIVE MODE;
            CONTINUE WHEN to_regclass(v_name) IS NOT NULL;  -- another process made it while we waited
            EXECUTE format('CREATE TABLE %I (LIKE oauth_access_tokens INCLUDING ALL)', v_name);
            EXECUTE format('ALTER TABLE oauth_access_tokens ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                           v_name, v_start, v_start + interval '6 hours');
        END IF;
    END LOOP;
END $$;
