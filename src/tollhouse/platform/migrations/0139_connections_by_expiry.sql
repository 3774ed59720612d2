-- transactional: false
-- Connections whose end by time is not announced yet.
DROP INDEX CONCURRENTLY IF EXISTS oauth_grants_by_expiry;
CREATE INDEX CONCURRENTLY oauth_grants_by_expiry ON oauth_grants (expires_at)
    WHERE revoked_at IS NULL AND expiry_noted_at IS NULL;
