-- Merchants, the people who sign in for them, their sessions and API keys.
-- Secrets are kept as SHA-256 digests (random ones) or argon2id hashes (passwords): a dump opens no door.

CREATE TABLE merchants (
    id uuid PRIMARY KEY,
    business_name text NOT NULL,
    suspended_at timestamptz,
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,  -- the e-mail folded: one account however it is spelt
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX users_of_merchant ON users (merchant_id);

CREATE TABLE sessions (
    id_hash bytea PRIMARY KEY CHECK (octet_length(id_hash) = 32),
    user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_last_use ON sessions (last_seen_at);  -- a session that ended is seen no more: this finds them all

-- Failed attempts of late, under a digest of what they were about. Unlogged: after a crash everybody begins anew, and
-- no failure waits for the disk.
CREATE UNLOGGED TABLE failed_attempts (
    name_hash bytea PRIMARY KEY CHECK (octet_length(name_hash) = 32),
    failed_at timestamptz[] NOT NULL CHECK (cardinality(failed_at) > 0),
    forget_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    name text NOT NULL,
    key_hash bytea NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
    scope_mask int NOT NULL CHECK (scope_mask > 0 AND scope_mask & (1 << 18) = 0),  -- never offline_access
    hint text NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, created_at DESC, id DESC);

-- Apart from the keys, so that noting a use never waits for or blocks a change of the key.
CREATE TABLE api_key_activity (
    api_key_id uuid PRIMARY KEY REFERENCES api_keys,
    last_used_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE projects (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    name text NOT NULL,
    website_url text,
    description text,
    status text NOT NULL CHECK (status IN ('in_review', 'approved', 'rejected')),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (merchant_id, mode, id)
);
