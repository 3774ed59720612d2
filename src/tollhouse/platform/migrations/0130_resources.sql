-- What the tokens of a connection open: the Integration API, or /mcp (RFC 8707).

ALTER TABLE oauth_requests ADD COLUMN resource text NOT NULL DEFAULT 'api' CHECK (resource IN ('api', 'mcp'));
ALTER TABLE oauth_codes ADD COLUMN resource text NOT NULL DEFAULT 'api' CHECK (resource IN ('api', 'mcp'));
ALTER TABLE oauth_grants ADD COLUMN resource text NOT NULL DEFAULT 'api' CHECK (resource IN ('api', 'mcp'));
COMMENT ON COLUMN oauth_grants.resource IS 'what its tokens open';
