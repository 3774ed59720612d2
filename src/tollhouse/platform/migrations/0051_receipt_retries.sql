-- A receipt that cannot be made is tried again ever later, so that others do not wait for it.
ALTER TABLE receipt_mails ADD COLUMN attempts integer NOT NULL DEFAULT 0, ADD COLUMN next_attempt_at timestamptz;
UPDATE receipt_mails SET next_attempt_at = requested_at WHERE handled_at IS NULL;
DROP INDEX receipt_mails_waiting;
CREATE INDEX receipt_mails_waiting ON receipt_mails (next_attempt_at) WHERE handled_at IS NULL;
ALTER TABLE receipt_mails ADD CONSTRAINT receipt_mails_attempt CHECK ((handled_at IS NULL) = (next_attempt_at IS NOT NULL));
