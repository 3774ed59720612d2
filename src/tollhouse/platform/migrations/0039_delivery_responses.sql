-- What a receiver answered: headers that contain no secrets, and the beginning of the body if it is text, redacted.
-- They are null if nothing was received, and for attempts before this column.
ALTER TABLE webhook_attempts ADD COLUMN response_headers jsonb, ADD COLUMN response_body text;
