-- Two operators approve what is above the threshold of a method, counted over 24 hours, and other decisions that give value.

ALTER TABLE outgoing_transfers
    ADD COLUMN second_operator_above_minor bigint CHECK (second_operator_above_minor >= 0),
    ADD COLUMN single_operator boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT outgoing_transfers_approved,
    ADD CONSTRAINT outgoing_transfers_approved
        CHECK (review <> 'approved' OR cardinality(approvals) >= CASE WHEN single_operator THEN least(approvals_needed, 1)
                                                                      ELSE approvals_needed END) NOT VALID;

-- How many operators approve a transfer of live mode. What waits for its review counts however old it is: it may leave at once.
CREATE FUNCTION outgoing_transfers_needed(p_transfer outgoing_transfers, p_above_minor bigint, p_at timestamptz) RETURNS int
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN p_transfer.mode = 'live' AND p_transfer.approvals_needed = 1
             AND least(p_transfer.second_operator_above_minor, p_above_minor) < (
                 SELECT coalesce(sum(coalesce(o.counted_minor, o.amount_minor)), 0) FROM outgoing_transfers o
                 WHERE o.merchant_id = p_transfer.merchant_id AND o.currency = p_transfer.currency AND o.mode = 'live'
                   AND o.review = 'required' AND o.closed_at IS NULL
             ) + (
                 SELECT coalesce(sum(coalesce(o.counted_minor, o.amount_minor)), 0) FROM outgoing_transfers o
                 WHERE o.merchant_id = p_transfer.merchant_id AND o.currency = p_transfer.currency AND o.mode = 'live'
                   AND o.review = 'approved' AND o.closed_at IS NULL AND o.id <> p_transfer.id
                   AND greatest(o.created_at, o.reviewed_at) > p_at - interval '24 hours'
             ) THEN 2
        ELSE p_transfer.approvals_needed
    END
$$;

CREATE FUNCTION outgoing_transfers_require_operators() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.second_operator_above_minor IS DISTINCT FROM OLD.second_operator_above_minor
       OR (OLD.single_operator AND NOT NEW.single_operator) THEN
        RAISE EXCEPTION 'an outgoing transfer stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.mode = 'live' AND NEW.review = 'approved' AND OLD.review <> 'approved'
       AND outgoing_transfers_needed(NEW, NULL, coalesce(NEW.reviewed_at, now())) > 1
       AND NOT (NEW.single_operator AND cardinality(NEW.approvals) > NEW.approvals_by_command)
       AND ((SELECT count(DISTINCT lower(operator)) FROM unnest(NEW.approvals) operator) < 2
            OR cardinality(NEW.approvals) - NEW.approvals_by_command < 2) THEN
        RAISE EXCEPTION 'two operators approve this transfer on their pages'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_two_operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER outgoing_transfers_operators BEFORE UPDATE ON outgoing_transfers
    FOR EACH ROW EXECUTE FUNCTION outgoing_transfers_require_operators();

-- The history says where a single operator decided what needs two.
ALTER TABLE operator_actions ADD COLUMN single_operator boolean NOT NULL DEFAULT false;

-- Approvals of decisions that need two operators. `terms` is what was approved, and `used_at` when the decision was carried out.
CREATE TABLE operator_approvals (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('adjustment', 'payout_return', 'payout_refusal', 'statements')),
    subject_id uuid NOT NULL,
    terms text NOT NULL,
    operator text NOT NULL CHECK (operator <> ''),
    operator_key text NOT NULL,
    reason text,
    single_operator boolean NOT NULL,
    given_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE UNIQUE INDEX operator_approvals_open ON operator_approvals (kind, subject_id, terms, operator_key)
    WHERE used_at IS NULL;
CREATE FUNCTION operator_approvals_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.used_at IS NOT NULL OR NEW.used_at IS NULL
       OR (OLD.id, OLD.kind, OLD.subject_id, OLD.terms, OLD.operator, OLD.operator_key, OLD.reason, OLD.single_operator,
           OLD.given_at)
          IS DISTINCT FROM
          (NEW.id, NEW.kind, NEW.subject_id, NEW.terms, NEW.operator, NEW.operator_key, NEW.reason, NEW.single_operator,
           NEW.given_at) THEN
        RAISE EXCEPTION 'an approval is used once, and stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER used_once BEFORE UPDATE ON operator_approvals
    FOR EACH ROW EXECUTE FUNCTION operator_approvals_refuse_change();
CREATE TRIGGER used_stay BEFORE DELETE ON operator_approvals FOR EACH ROW WHEN (OLD.used_at IS NOT NULL)
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON operator_approvals FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Whether the approvals that were used for a decision allow it. Such a decision is made once.
CREATE FUNCTION operator_approvals_suffice(p_kind text, p_subject_id uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(bool_or(a.single_operator), false) OR count(DISTINCT a.operator_key) >= 2
    FROM operator_approvals a
    WHERE a.kind = p_kind AND a.subject_id = p_subject_id AND a.used_at IS NOT NULL
$$;

-- A payout that came back for less: the difference is a bank fee up to what the method allows, and above that by two operators.
ALTER TABLE bank_entry_parts ADD COLUMN return_fee_max_minor bigint CHECK (return_fee_max_minor >= 0);
CREATE FUNCTION bank_entry_parts_require_operators() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT p.amount_minor FROM bank_payouts p WHERE p.id = NEW.payout_id) - NEW.amount_minor
       > coalesce(NEW.return_fee_max_minor, 0)
       AND NOT operator_approvals_suffice('payout_return', NEW.id) THEN
        RAISE EXCEPTION 'two operators approve a return for so much less'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_entry_parts_two_operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER returned_by_operators BEFORE UPDATE OF outcome ON bank_entry_parts
    FOR EACH ROW WHEN (NEW.outcome = 'payout_return' AND OLD.outcome <> 'payout_return')
    EXECUTE FUNCTION bank_entry_parts_require_operators();

-- Further actions, beside those that the constraint allows.
DO $$
DECLARE
    v_allowed text;
BEGIN
    SELECT pg_get_expr(conbin, conrelid) INTO STRICT v_allowed FROM pg_constraint
    WHERE conrelid = 'operator_actions'::regclass AND conname = 'operator_actions_allowed';
    EXECUTE format(
        'ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_allowed, '
        'ADD CONSTRAINT operator_actions_allowed CHECK (%s '
        'OR (action IN (''withdrawal_approval_given'', ''refund_approval_given'') AND merchant_id IS NOT NULL) '
        'OR (action IN (''adjustment_approved'', ''payout_refusal_approved'') AND merchant_id IS NOT NULL '
        'AND reason IS NOT NULL) '
        'OR (action IN (''transfer_return_approved'', ''import_confirmed'') AND merchant_id IS NULL '
        'AND reason IS NOT NULL))', v_allowed);
END $$;
ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_amount,
    ADD CONSTRAINT operator_actions_amount CHECK (
        CASE action
            WHEN 'position_limit_changed' THEN currency IS NOT NULL AND coalesce(amount_minor > 0, true)
            ELSE (currency IS NOT NULL AND amount_minor IS NOT NULL)
                 = (action IN ('balance_adjusted', 'adjustment_approved', 'rail_float_changed'))
        END);
