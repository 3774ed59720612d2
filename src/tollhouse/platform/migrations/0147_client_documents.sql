-- Applications that are known by the URL of a document about them, the client ID metadata document. They have no owner.

ALTER TABLE oauth_clients ADD COLUMN document_url text;
COMMENT ON COLUMN oauth_clients.document_url IS 'what such an application has as client_id; id is made from it';
ALTER TABLE oauth_clients ADD CONSTRAINT oauth_clients_document CHECK (
    document_url IS NULL OR merchant_id IS NULL AND client_type = 'public' AND connection_webhook_url IS NULL
        AND scope_mask & ((1 << 5) | (1 << 6)) = 0);
COMMENT ON CONSTRAINT oauth_clients_document ON oauth_clients IS 'without balance payments: there is no owner to pay';
CREATE INDEX oauth_clients_of_documents ON oauth_clients (updated_at) WHERE document_url IS NOT NULL;
