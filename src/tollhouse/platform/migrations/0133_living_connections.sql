-- Connections that change: each change has a number, and the application hears of changes and ends at an address of its own.

ALTER TABLE oauth_grants
    ADD COLUMN version integer NOT NULL DEFAULT 1,
    ADD COLUMN expiry_noted_at timestamptz,
    ADD COLUMN reminded_at timestamptz;
COMMENT ON COLUMN oauth_grants.version IS 'rises with each change of permissions; the end of the connection is one more';
COMMENT ON COLUMN oauth_grants.expiry_noted_at IS 'when a job found that it had expired, and announced it';
COMMENT ON COLUMN oauth_grants.reminded_at IS 'when the merchant was reminded to renew it';

ALTER TABLE oauth_clients
    ADD COLUMN connection_webhook_url text,
    ADD COLUMN webhook_sender_id uuid UNIQUE,
    ADD CONSTRAINT oauth_clients_webhook_sender CHECK (connection_webhook_url IS NULL OR webhook_sender_id IS NOT NULL);
COMMENT ON COLUMN oauth_clients.webhook_sender_id IS 'stands for the application where tables of webhooks have a merchant';

-- Events about connections are those of an application: it has settings and secrets, but is no merchant, and has no feed.
ALTER TABLE webhook_environments DROP CONSTRAINT webhook_environments_merchant_id_fkey;
ALTER TABLE webhook_secrets DROP CONSTRAINT webhook_secrets_merchant_id_fkey;
COMMENT ON COLUMN webhook_environments.merchant_id IS 'a merchant, or the webhook_sender_id of an application';
COMMENT ON COLUMN webhook_secrets.merchant_id IS 'a merchant, or the webhook_sender_id of an application';
COMMENT ON COLUMN webhook_events.merchant_id IS 'a merchant, or the webhook_sender_id of an application';
DROP TRIGGER queued ON webhook_events;
CREATE TRIGGER queued AFTER INSERT ON webhook_events
    FOR EACH ROW WHEN (NEW.type <> 'webhook.test' AND NEW.source_type <> 'connection') EXECUTE FUNCTION webhook_events_queue();
