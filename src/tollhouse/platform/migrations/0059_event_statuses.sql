-- Events in a status that few events have, so that lists of them read no other events. The rows of events have no index by
-- status: each delivery would be a new row in every index. A trigger keeps this table; deliveries that succeed at once never
-- get a row. A row whose event was dropped with its month stays until the next cleanup.
CREATE TABLE webhook_event_statuses (
    event_id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    status text NOT NULL CHECK (status IN ('retrying', 'failed', 'canceled', 'held')),
    created_at timestamptz NOT NULL
);
CREATE INDEX webhook_event_statuses_listed
    ON webhook_event_statuses (merchant_id, mode, status, created_at DESC, event_id DESC);

CREATE FUNCTION webhook_event_statuses_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status IN ('retrying', 'failed', 'canceled', 'held') THEN
        INSERT INTO webhook_event_statuses (event_id, merchant_id, mode, status, created_at)
        VALUES (NEW.id, NEW.merchant_id, NEW.mode, NEW.status, NEW.created_at)
        ON CONFLICT (event_id) DO UPDATE SET status = excluded.status;
    ELSE
        DELETE FROM webhook_event_statuses WHERE event_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_event_statuses_first AFTER INSERT ON webhook_events FOR EACH ROW
    WHEN (NEW.status = 'held') EXECUTE FUNCTION webhook_event_statuses_follow();
CREATE TRIGGER webhook_event_statuses_follow AFTER UPDATE OF status ON webhook_events FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND (OLD.status IN ('retrying', 'failed', 'canceled', 'held')
                                        OR NEW.status IN ('retrying', 'failed', 'canceled', 'held')))
    EXECUTE FUNCTION webhook_event_statuses_follow();
