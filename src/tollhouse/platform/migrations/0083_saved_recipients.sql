-- Saved recipients of withdrawals, which can be paid after a cooling time, and the setting that withdrawals go only to them.
CREATE TABLE withdrawal_recipients (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 80),
    method_id text NOT NULL,
    rail text NOT NULL,
    receiver text NOT NULL,
    account text NOT NULL,
    provider_fields jsonb NOT NULL CHECK (jsonb_typeof(provider_fields) = 'object'),
    active_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (id, merchant_id),
    CHECK (active_at >= created_at)
);
COMMENT ON COLUMN withdrawal_recipients.account IS 'the receiver in the notation of the rail';
COMMENT ON COLUMN withdrawal_recipients.active_at IS 'when it can be paid; in test mode by the test clock';
CREATE UNIQUE INDEX withdrawal_recipients_once ON withdrawal_recipients (merchant_id, mode, method_id, account);
CREATE INDEX withdrawal_recipients_by_account ON withdrawal_recipients (merchant_id, mode, rail, account);
CREATE INDEX withdrawal_recipients_of_merchant ON withdrawal_recipients (merchant_id, mode, created_at DESC, id DESC);
-- A changed recipient would be paid without a cooling time. It is deleted, and created again.
CREATE TRIGGER never_changed BEFORE UPDATE ON withdrawal_recipients FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

CREATE TABLE withdrawal_settings (
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    saved_recipients_only boolean NOT NULL,
    turns_off_at timestamptz,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, mode),
    CHECK (turns_off_at IS NULL OR saved_recipients_only)
);
COMMENT ON COLUMN withdrawal_settings.turns_off_at IS 'from then on saved_recipients_only no longer counts; in test mode by the test clock';

-- The present of an environment: in test mode by its test clock.
CREATE FUNCTION time_of_environment(p_merchant uuid, p_mode text, p_now timestamptz) RETURNS timestamptz
    LANGUAGE sql STABLE
    AS $$
    SELECT p_now + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = (p_merchant, p_mode)), '0')
$$;

-- A conflict, since the action has verified the same: another transaction has deleted the recipient or changed the setting.
CREATE FUNCTION outgoing_refuse_unsaved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    present timestamptz;
    off_at timestamptz;
BEGIN
    SELECT coalesce(s.turns_off_at, 'infinity') INTO off_at FROM withdrawal_settings s
    WHERE s.merchant_id = NEW.merchant_id AND s.mode = NEW.mode AND s.saved_recipients_only;
    IF NOT FOUND OR NEW.receiver = NEW.payer_account THEN
        RETURN NEW;
    END IF;
    present := time_of_environment(NEW.merchant_id, NEW.mode, NEW.created_at);
    IF present < off_at AND NOT EXISTS (
        SELECT FROM withdrawal_recipients r
        WHERE (r.merchant_id, r.mode, r.rail, r.account) = (NEW.merchant_id, NEW.mode, NEW.rail, NEW.receiver)
          AND r.active_at <= present) THEN
        RAISE EXCEPTION 'money leaves only to saved recipients' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER only_saved_recipients BEFORE INSERT ON outgoing_transfers
    FOR EACH ROW EXECUTE FUNCTION outgoing_refuse_unsaved();

ALTER TABLE withdrawals ADD COLUMN recipient_id uuid;
COMMENT ON COLUMN withdrawals.recipient_id IS 'the saved recipient it was created for, which may be deleted since';
CREATE FUNCTION withdrawals_refuse_inactive_recipient() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM withdrawal_recipients r
        WHERE r.id = NEW.recipient_id AND (r.merchant_id, r.mode, r.method_id, r.receiver)
                                          = (NEW.merchant_id, NEW.mode, NEW.method_id, NEW.receiver)
          AND r.active_at <= time_of_environment(NEW.merchant_id, NEW.mode, NEW.created_at)) THEN
        RAISE EXCEPTION 'this recipient cannot be paid' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER only_active_recipients BEFORE INSERT ON withdrawals
    FOR EACH ROW WHEN (NEW.recipient_id IS NOT NULL) EXECUTE FUNCTION withdrawals_refuse_inactive_recipient();
CREATE TRIGGER keeps_recipient BEFORE UPDATE OF recipient_id ON withdrawals
    FOR EACH ROW WHEN (OLD.recipient_id IS DISTINCT FROM NEW.recipient_id) EXECUTE FUNCTION ledger_refuse_change();

ALTER TABLE mails
    DROP CONSTRAINT mails_about_check,
    ADD CONSTRAINT mails_about_check CHECK (about IN ('verify', 'reset', 'password_changed', 'new_device', 'factor_on',
                                                      'factor_off', 'receipt', 'recipient_added', 'recipients_only_off'));
