-- transactional: false
-- Connections that are open, of which few among the many that ended.
DROP INDEX CONCURRENTLY IF EXISTS oauth_grants_open_of_client;
CREATE INDEX CONCURRENTLY oauth_grants_open_of_client
    ON oauth_grants (client_id, created_at DESC, id DESC) INCLUDE (grant_epoch, expires_at)
    WHERE revoked_at IS NULL AND expiry_noted_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS oauth_grants_open_of_merchant;
CREATE INDEX CONCURRENTLY oauth_grants_open_of_merchant
    ON oauth_grants (merchant_id, created_at DESC, id DESC) WHERE revoked_at IS NULL AND expiry_noted_at IS NULL;
