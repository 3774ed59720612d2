-- The authorization requests of an application that wait for an answer are counted before another one is accepted.

CREATE INDEX oauth_requests_open ON oauth_requests (client_id, expires_at) WHERE decision IS NULL;
