-- Proposals that moved nothing are deleted some time after their end.
CREATE INDEX proposals_without_result ON proposals (ended_at) WHERE status IN ('rejected', 'canceled', 'expired', 'failed');
