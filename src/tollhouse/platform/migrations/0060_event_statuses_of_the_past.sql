-- transactional: false
-- The statuses of events that were recorded before they were kept. The events are locked, so that none changes meanwhile.
INSERT INTO webhook_event_statuses (event_id, merchant_id, mode, status, created_at)
SELECT id, merchant_id, mode, status, created_at FROM webhook_events
WHERE status IN ('retrying', 'failed', 'canceled', 'held')
FOR NO KEY UPDATE
ON CONFLICT DO NOTHING;
ANALYZE webhook_event_statuses;
