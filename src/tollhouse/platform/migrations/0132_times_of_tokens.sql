-- When an access token was issued, for introspection (RFC 7662). Those of before live for 15 minutes.

ALTER TABLE oauth_access_tokens ADD COLUMN created_at timestamptz;
