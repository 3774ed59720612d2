-- Which keys of the ring this database was used with. The check value shows that a key is the same one, and nothing else of it.
CREATE TABLE secret_keys (
    key_id text PRIMARY KEY,
    check_value bytea NOT NULL CHECK (octet_length(check_value) = 16),
    created_at timestamptz NOT NULL,
    given_up_at timestamptz  -- lost for good: what was encrypted under it cannot be read again
);
