-- What lists are filtered by and few rows have: an external id, the object that an event is about.

CREATE INDEX payment_links_external ON payment_links (merchant_id, mode, external_id, created_at DESC, id DESC)
    WHERE external_id IS NOT NULL;
CREATE INDEX refunds_external ON refunds (merchant_id, mode, external_id, created_at DESC, id DESC)
    WHERE external_id IS NOT NULL;
CREATE INDEX conversions_external ON conversions (merchant_id, mode, external_id, created_at DESC, id DESC)
    WHERE external_id IS NOT NULL;
CREATE INDEX webhook_events_of_resource ON webhook_events (merchant_id, mode, source_id, created_at DESC, id DESC);
