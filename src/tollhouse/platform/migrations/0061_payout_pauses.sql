-- Payouts are paused after a restore, and whenever an operator pauses them. Paused, no live money leaves.

CREATE TABLE payout_pauses (
    id uuid PRIMARY KEY,
    cause text NOT NULL CHECK (cause IN ('restored', 'operator')),
    data_until timestamptz,  -- of a restored database: when its backup was taken; what happened later is missing
    paused_at timestamptz NOT NULL,
    paused_by text NOT NULL CHECK (paused_by <> ''),
    reason text NOT NULL CHECK (reason <> ''),
    resumed_at timestamptz,
    resumed_by text,
    resumed_because text,
    CHECK ((cause = 'restored') = (data_until IS NOT NULL)),
    CHECK ((resumed_at IS NULL) = (resumed_by IS NULL) AND (resumed_at IS NULL) = (resumed_because IS NULL))
);
CREATE INDEX payout_pauses_open ON payout_pauses (paused_at) WHERE resumed_at IS NULL;
CREATE TRIGGER never_deleted BEFORE DELETE ON payout_pauses FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER resumed_once BEFORE UPDATE ON payout_pauses FOR EACH ROW WHEN (OLD.resumed_at IS NOT NULL)
    EXECUTE FUNCTION ledger_refuse_change();

-- The cluster and the database that these rows are used in. A dump that is loaded elsewhere takes the row with it and so
-- does not match: payouts are paused, however it was restored.
CREATE TABLE database_identity (
    the_only boolean PRIMARY KEY DEFAULT true CHECK (the_only),
    identity text NOT NULL
);
CREATE FUNCTION current_database_identity() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%s/%s', (SELECT system_identifier FROM pg_control_system()),
                  (SELECT oid FROM pg_database WHERE datname = current_database()))
$$;
INSERT INTO database_identity (identity) VALUES (current_database_identity());

CREATE FUNCTION payouts_are_paused() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM payout_pauses WHERE resumed_at IS NULL)
        OR NOT EXISTS (SELECT FROM database_identity WHERE identity = current_database_identity())
$$;

CREATE OR REPLACE FUNCTION bank_payouts_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM outgoing_transfers o
                   WHERE o.id = NEW.id AND o.receiver = NEW.receiver_iban AND o.released_at IS NOT NULL
                     AND o.closed_at IS NULL) THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'exported' THEN
        PERFORM FROM merchants WHERE id = NEW.merchant_id AND suspended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        IF EXISTS (SELECT FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id AND e.side = 'debit'
                   WHERE lower(p.end_to_end_id) = replace(NEW.id::text, '-', '')) THEN
            RAISE EXCEPTION 'the bank has debited this payout'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_payouts_debited';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE INDEX bank_entry_parts_of_order ON bank_entry_parts (lower(end_to_end_id)) WHERE end_to_end_id IS NOT NULL;

-- A statement or an operator can show that a payout left by an export that the restored database does not know: it is
-- confirmed without a batch.
ALTER TABLE bank_payouts ADD COLUMN is_export_lost boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT bank_payouts_check,
    ADD CONSTRAINT bank_payouts_check CHECK (status NOT IN ('exported', 'confirmed', 'returned') OR batch_id IS NOT NULL
                                             OR (is_export_lost AND status <> 'exported')),
    ADD CONSTRAINT bank_payouts_lost CHECK (NOT is_export_lost OR (batch_id IS NULL AND debited_at IS NOT NULL));
INSERT INTO state_transitions (record, from_status, to_status) VALUES ('bank_payouts', 'prepared', 'confirmed');

-- The day of the closing balance: until then the bank has shown everything. NULL for statements that omit it, and older ones.
ALTER TABLE bank_statements ADD COLUMN closing_on date;

ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_whose,
    DROP CONSTRAINT operator_actions_why,
    ADD CONSTRAINT operator_actions_whose
        CHECK ((merchant_id IS NULL) = (action LIKE 'operator%' OR action LIKE 'statement%' OR action LIKE 'transfer%'
                                        OR action LIKE 'batch%' OR action LIKE 'payouts%')),
    ADD CONSTRAINT operator_actions_why
        CHECK (reason IS NOT NULL OR action <> ALL (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected',
               'refund_rejected', 'transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'payout_refused',
               'second_factor_removed', 'payouts_paused', 'payouts_resumed']));
DO $$
DECLARE
    v_before text;
BEGIN
    SELECT pg_get_expr(conbin, conrelid) INTO v_before FROM pg_constraint
    WHERE conrelid = 'operator_actions'::regclass AND conname = 'operator_actions_action_check';
    EXECUTE format('ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_check, '
                   'ADD CONSTRAINT operator_actions_action_check CHECK (%s OR action IN (%L, %L, %L))',
                   v_before, 'payouts_paused', 'payouts_resumed', 'transfer_matched');
END $$;
