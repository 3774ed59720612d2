-- Above an amount that a merchant sets, withdrawals, and refunds to another account than the payer's, leave only once a second
-- member has approved them: nobody who asked, made the key, gave the connection or made the schedule that asks.

ALTER TABLE members ADD COLUMN decides_since timestamptz;
UPDATE members SET decides_since = created_at;
SET CONSTRAINTS owner_kept IMMEDIATE;  -- no table whose checks are pending can be altered
ALTER TABLE members ALTER COLUMN decides_since SET NOT NULL;
ALTER TABLE members ALTER COLUMN decides_since SET DEFAULT now();
COMMENT ON COLUMN members.decides_since IS 'since when the role moves money: who was let in a moment ago is no second member';
CREATE FUNCTION members_begin_to_decide() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.decides_since := now();
    RETURN NEW;
END $$;
CREATE TRIGGER begins_to_decide BEFORE UPDATE ON members FOR EACH ROW
    WHEN ((OLD.removed_at IS NOT NULL AND NEW.removed_at IS NULL)
          OR (OLD.role NOT IN ('owner', 'administrator', 'finance') AND NEW.role IN ('owner', 'administrator', 'finance')))
    EXECUTE FUNCTION members_begin_to_decide();

CREATE TABLE second_member_rules (
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    currency text NOT NULL,
    above_minor bigint CHECK (above_minor >= 0),
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    change_by uuid,
    change_at timestamptz,
    change_above_minor bigint CHECK (change_above_minor >= 0),
    confirmed_by uuid,
    confirmed_at timestamptz,
    PRIMARY KEY (merchant_id, currency),
    CHECK ((change_by IS NULL) = (change_at IS NULL)),
    CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL)),
    CHECK (change_above_minor IS NULL OR change_at IS NOT NULL)
);
COMMENT ON TABLE second_member_rules IS 'with an amount in any currency, one without needs a second member always';
COMMENT ON COLUMN second_member_rules.above_minor IS 'null: no amount, or not yet';
COMMENT ON COLUMN second_member_rules.set_at IS 'when there was an amount, of any currency, first';
COMMENT ON COLUMN second_member_rules.change_by IS 'who asks for another amount, or for none; null: nobody';
COMMENT ON COLUMN second_member_rules.confirmed_by IS 'who confirmed the last change';

-- A member of before the first amount, or of 72 hours: an owner cannot let a second member in and withdraw in one go.
CREATE FUNCTION counts_as_second_member(p_merchant uuid, p_user uuid, p_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM members m
        WHERE (m.merchant_id, m.user_id) = (p_merchant, p_user) AND m.removed_at IS NULL
          AND m.decides_since <= greatest(p_at - interval '72 hours', (
              SELECT min(r.set_at) FROM second_member_rules r WHERE r.merchant_id = p_merchant AND r.above_minor IS NOT NULL)))
$$;
-- The first amounts of all currencies are set in one transaction. What follows is asked for and confirmed.
CREATE FUNCTION second_member_rules_require_confirmation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.above_minor IS NOT DISTINCT FROM OLD.above_minor  -- null, when it is inserted
       OR NOT EXISTS (SELECT FROM second_member_rules r
                      WHERE r.merchant_id = NEW.merchant_id AND r.above_minor IS NOT NULL
                        AND (r.set_at < NEW.set_at OR r.currency = NEW.currency)) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' OR OLD.change_by IS NULL OR NEW.above_minor IS DISTINCT FROM OLD.change_above_minor
       OR coalesce(NEW.confirmed_by = OLD.change_by OR NEW.confirmed_at >= OLD.change_at + interval '7 days', true)
       OR NOT counts_as_second_member(NEW.merchant_id, NEW.confirmed_by, NEW.confirmed_at) THEN
        RAISE EXCEPTION 'a second member confirms the change of this rule' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER confirmed BEFORE INSERT OR UPDATE ON second_member_rules FOR EACH ROW
    EXECUTE FUNCTION second_member_rules_require_confirmation();
CREATE TRIGGER never_deleted BEFORE DELETE ON second_member_rules FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

ALTER TABLE outgoing_transfers ADD COLUMN asked_by uuid;
-- Before teams there was one user, the owner.
CREATE FUNCTION first_owner(p_merchant uuid) RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT m.user_id FROM members m WHERE m.merchant_id = p_merchant
    ORDER BY m.role = 'owner' DESC, m.created_at, m.user_id LIMIT 1
$$;
UPDATE outgoing_transfers SET asked_by = first_owner(merchant_id) WHERE released_at IS NULL AND closed_at IS NULL;
ALTER TABLE outgoing_transfers ADD COLUMN second_member_required boolean NOT NULL DEFAULT false;
ALTER TABLE outgoing_transfers ADD COLUMN second_member_id uuid;
ALTER TABLE outgoing_transfers ADD COLUMN second_member_at timestamptz;
COMMENT ON COLUMN outgoing_transfers.asked_by IS 'the user who asked, made the key, or gave the connection; null: nobody who is known';
ALTER TABLE outgoing_transfers ADD CONSTRAINT outgoing_transfers_second_member
    CHECK (NOT second_member_required OR released_at IS NULL OR second_member_at IS NOT NULL);
ALTER TABLE outgoing_transfers ADD CONSTRAINT outgoing_transfers_second_member_decided
    CHECK ((second_member_id IS NULL) = (second_member_at IS NULL));
CREATE INDEX outgoing_transfers_by_one_member ON outgoing_transfers (merchant_id, mode, currency, created_at)
    WHERE NOT second_member_required AND closed_at IS NULL AND receiver IS DISTINCT FROM payer_account;
-- With what else left or leaves in 24 hours by one member alone: parts do not avoid the second one.
CREATE FUNCTION outgoing_transfers_require_member() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_above bigint;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.asked_by, NEW.second_member_required) IS DISTINCT FROM (OLD.asked_by, OLD.second_member_required)
           OR (NEW.second_member_at IS DISTINCT FROM OLD.second_member_at AND (
               OLD.second_member_at IS NOT NULL OR OLD.closed_at IS NOT NULL OR NOT OLD.second_member_required
               OR NEW.second_member_id IS NOT DISTINCT FROM NEW.asked_by
               OR NOT counts_as_second_member(NEW.merchant_id, NEW.second_member_id, NEW.second_member_at))) THEN
            RAISE EXCEPTION 'another member approves a transfer, once' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    NEW.second_member_required := false;
    NEW.second_member_id := NULL;
    NEW.second_member_at := NULL;
    IF NEW.receiver IS NOT DISTINCT FROM NEW.payer_account THEN
        RETURN NEW;
    END IF;
    PERFORM FROM second_member_rules r WHERE r.merchant_id = NEW.merchant_id ORDER BY r.currency
    FOR NO KEY UPDATE;  -- of two at once, the second one counts the first
    SELECT coalesce(max(r.above_minor) FILTER (WHERE r.currency = NEW.currency), -1) INTO v_above
    FROM second_member_rules r WHERE r.merchant_id = NEW.merchant_id AND r.above_minor IS NOT NULL
    HAVING count(*) > 0;
    IF FOUND THEN
        NEW.second_member_required := v_above < coalesce(NEW.counted_minor, NEW.amount_minor) + (
            SELECT coalesce(sum(coalesce(o.counted_minor, o.amount_minor)), 0) FROM outgoing_transfers o
            WHERE o.merchant_id = NEW.merchant_id AND o.mode = NEW.mode AND o.currency = NEW.currency
              AND NOT o.second_member_required AND o.closed_at IS NULL AND o.receiver IS DISTINCT FROM o.payer_account
              AND o.created_at > NEW.created_at - interval '24 hours');
        NEW.asked_by := coalesce(NEW.asked_by, first_owner(NEW.merchant_id));
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER second_member BEFORE INSERT OR UPDATE ON outgoing_transfers FOR EACH ROW
    EXECUTE FUNCTION outgoing_transfers_require_member();

-- Who answers for what asks by itself.
ALTER TABLE oauth_codes ADD COLUMN granted_by uuid;
ALTER TABLE oauth_grants ADD COLUMN granted_by uuid;
ALTER TABLE withdrawal_schedules ADD COLUMN created_by uuid;
UPDATE oauth_grants SET granted_by = first_owner(merchant_id) WHERE revoked_at IS NULL;
UPDATE withdrawal_schedules SET created_by = first_owner(merchant_id);
UPDATE api_keys SET created_by = first_owner(merchant_id) WHERE created_by IS NULL AND revoked_at IS NULL;

INSERT INTO mail_kinds (about) VALUES ('withdrawal_needs_member'), ('refund_needs_member'), ('second_member_rule');
