-- What has been claimed leaves a dead entry at the head of its destination's queue until vacuum comes. The index lets a
-- claim step over those it has seen dead, but not where equal entries share one: as all events of one transaction did.
DROP INDEX webhook_deliveries_ready;
CREATE INDEX webhook_deliveries_ready ON webhook_deliveries (lane, destination_key, run_at)
    WITH (deduplicate_items = off) WHERE lease_until IS NULL;
