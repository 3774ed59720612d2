-- The time zone that a merchant's pages tell times in. It begins their days; the interface stays in UTC.

ALTER TABLE merchants
    ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC'
        CONSTRAINT merchants_time_zone CHECK (time_zone ~ '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$');

-- What the home page sums: payments by the moment they succeeded or failed. The sums are read from the first index alone.
CREATE INDEX transactions_succeeded ON transactions (merchant_id, mode, succeeded_at)
    INCLUDE (currency, method_id, credited_minor) WHERE succeeded_at IS NOT NULL;
CREATE INDEX transactions_failed ON transactions (merchant_id, mode, updated_at) INCLUDE (currency) WHERE status = 'failed';
