-- Sessions that stay signed in on a device, failed sign-ins in the log of a person, and an action of operators.

ALTER TABLE sessions ADD COLUMN device_hash bytea CHECK (octet_length(device_hash) = 32);
COMMENT ON COLUMN sessions.device_hash IS 'the known device on which the session is not ended by 12 hours without use; null: nowhere';
INSERT INTO operator_action_kinds (action, of_merchant, needs_reason) VALUES ('sessions_ended', true, true);
