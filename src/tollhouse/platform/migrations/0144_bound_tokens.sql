-- Tokens that are bound to a key of their application (DPoP, RFC 9449): SHA-256 thumbprints of keys.

ALTER TABLE oauth_clients ADD COLUMN dpop_bound boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN oauth_clients.dpop_bound IS 'whether all its new tokens must be bound to a key';
ALTER TABLE oauth_requests ADD COLUMN dpop_jkt bytea CHECK (octet_length(dpop_jkt) = 32);
ALTER TABLE oauth_codes ADD COLUMN dpop_jkt bytea CHECK (octet_length(dpop_jkt) = 32);
COMMENT ON COLUMN oauth_codes.dpop_jkt IS 'the key that must exchange the code; null: any, or none';
ALTER TABLE oauth_grants ADD COLUMN dpop_jkt bytea CHECK (octet_length(dpop_jkt) = 32);
COMMENT ON COLUMN oauth_grants.dpop_jkt IS 'the key that must refresh: of public applications alone, others authenticate';
ALTER TABLE oauth_access_tokens ADD COLUMN dpop_jkt bytea;
COMMENT ON COLUMN oauth_access_tokens.dpop_jkt IS 'the key that must prove each use; null: a bearer token';
