-- Operators approve an application for live write permissions, and verify who is behind it.

ALTER TABLE oauth_clients ADD COLUMN approved_at timestamptz;
COMMENT ON COLUMN oauth_clients.approved_at IS 'since when an operator lets merchants give it live write permissions';
ALTER TABLE oauth_clients ADD COLUMN verified_at timestamptz;
COMMENT ON COLUMN oauth_clients.verified_at IS 'since when an operator vouches for its owner, name and website';
ALTER TABLE oauth_clients ADD CONSTRAINT oauth_clients_reviewed CHECK (
    merchant_id IS NOT NULL OR num_nonnulls(approved_at, verified_at) = 0);
INSERT INTO operator_action_kinds (action, of_merchant, needs_reason) VALUES
    ('application_approved', true, false), ('application_approval_withdrawn', true, true),
    ('application_verified', true, false), ('application_verification_withdrawn', true, true);
