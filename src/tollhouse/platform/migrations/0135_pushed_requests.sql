-- Pushed authorization requests (RFC 9126): stored before the browser comes.

ALTER TABLE oauth_requests ADD COLUMN is_pushed boolean NOT NULL DEFAULT false;
ALTER TABLE oauth_requests ADD COLUMN opened_at timestamptz CHECK (is_pushed OR opened_at IS NULL);
COMMENT ON COLUMN oauth_requests.opened_at IS 'when a browser first came with the pushed request';
