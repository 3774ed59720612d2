-- Changes of the address by which a person signs in, and what waits while one can be undone.

CREATE TABLE address_changes (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    old_email text NOT NULL,
    old_key text NOT NULL,
    old_verified_at timestamptz,
    new_email text NOT NULL,
    new_key text NOT NULL,
    requested_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    withdrawn_at timestamptz,
    confirmed_at timestamptz,
    undo_until timestamptz,
    undone_at timestamptz,
    CONSTRAINT address_changes_differ CHECK (old_key <> new_key),
    CONSTRAINT address_changes_confirmed CHECK (
        expires_at > requested_at AND coalesce(confirmed_at < expires_at, true)
        AND (confirmed_at IS NULL) = (undo_until IS NULL) AND coalesce(undo_until > confirmed_at, true)),
    CONSTRAINT address_changes_one_end CHECK (num_nonnulls(withdrawn_at, confirmed_at) <= 1),
    CONSTRAINT address_changes_undone CHECK (
        undone_at IS NULL OR confirmed_at IS NOT NULL AND undone_at >= confirmed_at AND undone_at < undo_until)
);
COMMENT ON COLUMN address_changes.withdrawn_at IS 'by the person, by a later request, or by a new password';
CREATE UNIQUE INDEX address_changes_open ON address_changes (user_id) WHERE confirmed_at IS NULL AND withdrawn_at IS NULL;
CREATE INDEX address_changes_of_user ON address_changes (user_id, requested_at);
CREATE INDEX address_changes_by_old ON address_changes (old_key) WHERE confirmed_at IS NOT NULL;
CREATE INDEX address_changes_unconfirmed ON address_changes (requested_at) WHERE confirmed_at IS NULL;

-- The changes because of which value of a merchant to destinations that are newer than `since` waits. An undone one counts for
-- what was asked for before it was undone, without end.
CREATE FUNCTION address_changes_counting(p_merchant uuid, p_mode text, p_asked_at timestamptz, p_now timestamptz)
RETURNS TABLE (since timestamptz, until timestamptz, undone_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT c.requested_at, CASE WHEN c.undone_at IS NULL THEN c.undo_until ELSE 'infinity' END, c.undone_at
    FROM members m JOIN address_changes c ON c.user_id = m.user_id
    WHERE m.merchant_id = p_merchant AND m.removed_at IS NULL
      AND CASE WHEN c.undone_at IS NULL THEN c.undo_until > time_of_environment(p_merchant, p_mode, p_now)
               ELSE c.requested_at <= p_asked_at END
$$;

-- Until when a transfer waits; null: it does not. A destination is known by what left for it, or is saved, before the change.
-- After an undone change a recipient that was saved meanwhile stays unknown until it is deleted and saved again.
CREATE FUNCTION outgoing_transfers_wait_until(p_transfer outgoing_transfers, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT max(c.until)
    FROM address_changes_counting(p_transfer.merchant_id, p_transfer.mode, p_transfer.created_at, p_now) c
    WHERE p_transfer.receiver IS DISTINCT FROM p_transfer.payer_account
      AND (c.undone_at IS NULL OR p_transfer.created_at <= c.undone_at OR EXISTS (
          SELECT FROM withdrawal_recipients r
          WHERE (r.merchant_id, r.mode, r.rail, r.account)
                = (p_transfer.merchant_id, p_transfer.mode, p_transfer.rail, p_transfer.receiver)
            AND r.created_at BETWEEN c.since AND c.undone_at))
      AND NOT EXISTS (
          SELECT FROM outgoing_transfers o
          WHERE (o.merchant_id, o.mode, o.rail, o.receiver)
                = (p_transfer.merchant_id, p_transfer.mode, p_transfer.rail, p_transfer.receiver)
            AND o.released_at < c.since)
      AND NOT EXISTS (
          SELECT FROM withdrawal_recipients r
          WHERE (r.merchant_id, r.mode, r.rail, r.account)
                = (p_transfer.merchant_id, p_transfer.mode, p_transfer.rail, p_transfer.receiver)
            AND r.created_at < c.since)
$$;
CREATE FUNCTION outgoing_transfers_wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF outgoing_transfers_wait_until(NEW, NEW.released_at) IS NOT NULL THEN
        RAISE EXCEPTION 'after a change of an address, money to new destinations waits'
            USING ERRCODE = 'serialization_failure', TABLE = TG_TABLE_NAME, CONSTRAINT = 'address_changes_wait';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER outgoing_transfers_wait AFTER UPDATE OF released_at ON outgoing_transfers FOR EACH ROW
    WHEN (NEW.kind = 'withdrawal' AND OLD.released_at IS NULL AND NEW.released_at IS NOT NULL)
    EXECUTE FUNCTION outgoing_transfers_wait();

-- The same of what a merchant pays to the owner of an application.
CREATE FUNCTION balance_payments_wait_until(
    p_merchant uuid, p_mode text, p_owner uuid, p_created_at timestamptz, p_now timestamptz
) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT max(c.until)
    FROM address_changes_counting(p_merchant, p_mode, p_created_at, p_now) c
    WHERE (c.undone_at IS NULL OR p_created_at <= c.undone_at)
      AND NOT EXISTS (
          SELECT FROM balance_payments b
          WHERE (b.merchant_id, b.mode, b.owner_id) = (p_merchant, p_mode, p_owner)
            AND b.captured_minor > 0 AND b.resolved_at < c.since)
$$;
CREATE FUNCTION balance_payments_wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF balance_payments_wait_until(NEW.merchant_id, NEW.mode, NEW.owner_id, NEW.created_at, NEW.resolved_at) IS NOT NULL THEN
        RAISE EXCEPTION 'after a change of an address, payments to new recipients wait'
            USING ERRCODE = 'serialization_failure', TABLE = TG_TABLE_NAME, CONSTRAINT = 'address_changes_wait';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER balance_payments_wait_made AFTER INSERT ON balance_payments FOR EACH ROW
    WHEN (NEW.captured_minor > 0) EXECUTE FUNCTION balance_payments_wait();
CREATE TRIGGER balance_payments_wait_captured AFTER UPDATE OF captured_minor ON balance_payments FOR EACH ROW
    WHEN (OLD.captured_minor = 0 AND NEW.captured_minor > 0) EXECUTE FUNCTION balance_payments_wait();

-- Emails about changes of the address, beside every other kind that there is.
INSERT INTO mail_kinds (about) VALUES ('address_requested'), ('confirm_address'), ('undo_address'), ('address_undone');
