-- Events of test mode that a merchant sends to another URL, once, beside their delivery.

CREATE TABLE webhook_replays (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode = 'test'),
    event_id uuid NOT NULL,
    url text NOT NULL,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    duration_ms integer CHECK (duration_ms >= 0),
    error text,
    http_status integer,
    response_headers jsonb,
    response_body text,
    PRIMARY KEY (id, merchant_id),
    CONSTRAINT webhook_replays_sent_once CHECK (started_at IS NOT NULL OR num_nonnulls(duration_ms, error, http_status) = 0),
    CONSTRAINT webhook_replays_result CHECK (duration_ms IS NOT NULL OR num_nonnulls(error, http_status) = 0)
);
COMMENT ON COLUMN webhook_replays.started_at IS 'when a worker took it; nobody takes it again';
COMMENT ON COLUMN webhook_replays.duration_ms IS 'null until it ended';
CREATE INDEX webhook_replays_of_event ON webhook_replays (merchant_id, mode, event_id, created_at);
CREATE INDEX webhook_replays_open ON webhook_replays (created_at) WHERE duration_ms IS NULL;
CREATE INDEX webhook_replays_old ON webhook_replays (created_at);
