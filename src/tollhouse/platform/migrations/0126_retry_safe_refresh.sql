-- A refresh with an Idempotency-Key gives the same tokens again to the same request, for a minute or until one of them was used.

ALTER TABLE oauth_access_tokens ADD COLUMN retryable_until timestamptz;
COMMENT ON COLUMN oauth_access_tokens.retryable_until IS 'the first use until then ends the retries of the refresh that issued the token';

-- At most one row for each grant: what its last refresh returned, encrypted under a key derived from the refresh token that was sent.
CREATE TABLE oauth_refresh_retries (
    grant_id uuid PRIMARY KEY,
    generation integer NOT NULL,
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    scope_mask integer NOT NULL CHECK (scope_mask & ~(1 << 18) <> 0),
    encrypted_tokens bytea NOT NULL,
    token_expires_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CHECK (expires_at < token_expires_at)
);
COMMENT ON COLUMN oauth_refresh_retries.generation IS 'of the refresh token that was sent';
CREATE INDEX oauth_refresh_retries_by_expiry ON oauth_refresh_retries (expires_at);

-- The first use of such a token: it has arrived, so its refresh is not repeated any more.
CREATE FUNCTION oauth_refresh_retries_end(p_token_hash bytea, p_grant_id uuid, p_now timestamptz, p_horizon interval)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE oauth_access_tokens SET retryable_until = NULL
    WHERE token_hash = p_token_hash AND expires_at > p_now AND expires_at <= p_now + p_horizon AND retryable_until IS NOT NULL;
    DELETE FROM oauth_refresh_retries WHERE grant_id = p_grant_id AND token_hash = p_token_hash;
END $$;
