-- Applications that authenticate by a signature (RFC 7523).

ALTER TABLE oauth_clients ADD COLUMN token_endpoint_auth_method text;
COMMENT ON COLUMN oauth_clients.token_endpoint_auth_method IS 'null: the secret by either method, or none for a public application';
ALTER TABLE oauth_clients ADD COLUMN jwks jsonb;
ALTER TABLE oauth_clients ADD COLUMN jwks_uri text;
ALTER TABLE oauth_clients ADD CONSTRAINT oauth_clients_auth_method CHECK (
    token_endpoint_auth_method IS NULL
    OR token_endpoint_auth_method = 'none' AND client_type = 'public'
    OR token_endpoint_auth_method IN ('client_secret_basic', 'client_secret_post', 'private_key_jwt') AND client_type = 'confidential');
ALTER TABLE oauth_clients ADD CONSTRAINT oauth_clients_keys CHECK (
    num_nonnulls(jwks, jwks_uri) <= 1
    AND (token_endpoint_auth_method IS DISTINCT FROM 'private_key_jwt' OR num_nonnulls(jwks, jwks_uri) = 1));

-- Digests of the ids of signed tokens that were used, each until the token has expired.
CREATE TABLE used_jtis (
    jti_hash bytea PRIMARY KEY CHECK (octet_length(jti_hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX used_jtis_by_expiry ON used_jtis (expires_at);

-- What was last fetched from a URL of an application, for all processes.
CREATE TABLE oauth_documents (
    url text PRIMARY KEY,
    body bytea NOT NULL,
    fetched_at timestamptz NOT NULL
);
CREATE INDEX oauth_documents_by_age ON oauth_documents (fetched_at);
