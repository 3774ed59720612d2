-- Withdrawals at a time, and every day, week or month. A run has the time it was due, so there is one for each.
CREATE TABLE withdrawal_schedules (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    recipient_id uuid NOT NULL,
    method_id text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint CHECK (amount_minor > 0),
    keep_minor bigint CHECK (keep_minor >= 0),
    frequency text NOT NULL CHECK (frequency IN ('once', 'daily', 'weekly', 'monthly')),
    day integer,
    description text,
    webhook_url text,
    status text NOT NULL CHECK (status IN ('active', 'paused', 'ended')),
    next_run_at timestamptz,
    next_attempt_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (id, merchant_id),
    CHECK (num_nonnulls(amount_minor, keep_minor) = 1),
    CHECK (CASE frequency WHEN 'weekly' THEN coalesce(day BETWEEN 1 AND 7, false)
                          WHEN 'monthly' THEN coalesce(day BETWEEN 1 AND 31, false) ELSE day IS NULL END),
    CHECK ((status = 'ended') = (next_run_at IS NULL)),
    CHECK ((status = 'active') = (next_attempt_at IS NOT NULL))
);
COMMENT ON COLUMN withdrawal_schedules.keep_minor IS 'what stays in the balance when everything above is withdrawn';
COMMENT ON COLUMN withdrawal_schedules.next_run_at IS 'when it is due next; in test mode by the test clock';
COMMENT ON COLUMN withdrawal_schedules.next_attempt_at IS 'when it is tried, which is later after an error that can pass';
CREATE INDEX withdrawal_schedules_due ON withdrawal_schedules (next_attempt_at) WHERE status = 'active';
CREATE INDEX withdrawal_schedules_active ON withdrawal_schedules (merchant_id, mode, next_attempt_at) WHERE status = 'active';
CREATE INDEX withdrawal_schedules_of_merchant ON withdrawal_schedules (merchant_id, mode, created_at DESC, id DESC);

CREATE TABLE withdrawal_schedule_runs (
    schedule_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    merchant_id uuid NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('created', 'skipped', 'failed')),
    withdrawal_id uuid,
    failure_code text,
    at timestamptz NOT NULL,
    PRIMARY KEY (schedule_id, merchant_id, due_at),
    FOREIGN KEY (schedule_id, merchant_id) REFERENCES withdrawal_schedules (id, merchant_id),
    CHECK ((outcome = 'created') = (withdrawal_id IS NOT NULL)),
    CHECK ((outcome = 'failed') = (failure_code IS NOT NULL))
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON withdrawal_schedule_runs
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

ALTER TABLE mails
    DROP CONSTRAINT mails_about_check,
    ADD CONSTRAINT mails_about_check CHECK (about IN ('verify', 'reset', 'password_changed', 'new_device', 'factor_on',
                                                      'factor_off', 'receipt', 'recipient_added', 'recipients_only_off',
                                                      'schedule_failed'));
