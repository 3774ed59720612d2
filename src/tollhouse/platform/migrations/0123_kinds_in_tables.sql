-- What may leave by a rail, and which actions operators have, are rows: a new kind is one, and no function is copied for it.

CREATE TABLE operator_action_kinds (
    action text PRIMARY KEY,
    of_merchant boolean NOT NULL,
    needs_reason boolean NOT NULL
);
COMMENT ON COLUMN operator_action_kinds.of_merchant IS 'whether the action names a merchant; others name none';
INSERT INTO operator_action_kinds (action, of_merchant, needs_reason) VALUES
    ('merchant_suspended', true, false), ('merchant_reactivated', true, false), ('merchant_exported', true, false),
    ('merchant_erased', true, true),
    ('application_suspended', true, false), ('application_reactivated', true, false),
    ('project_approval_given', true, false), ('project_approved', true, false), ('project_rejected', true, true),
    ('project_changes_approved', true, false), ('project_changes_rejected', true, true),
    ('withdrawal_approval_given', true, false), ('withdrawal_approved', true, false), ('withdrawal_rejected', true, true),
    ('refund_approval_given', true, false), ('refund_approved', true, false), ('refund_rejected', true, true),
    ('adjustment_approved', true, true), ('balance_adjusted', true, true),
    ('payout_approved', true, false), ('payout_to_be_refused', true, true), ('payout_refusal_approved', true, true),
    ('payout_refused', true, true), ('payout_returned', true, true),
    ('second_factor_removed', true, true),
    ('operator_invited', false, false), ('operator_joined', false, false), ('operator_closed', false, false),
    ('person_exported', false, false), ('person_erased', false, false),
    ('statement_imported', false, false), ('import_confirmed', false, true), ('batch_exported', false, false),
    ('transfer_assigned', false, true), ('transfer_matched', false, true), ('transfer_dismissed', false, true),
    ('transfer_recorded_as_fee', false, true), ('transfer_written_off', false, true), ('transfer_reopened', false, true),
    ('transfer_taken_back', false, true), ('transfer_return_approved', false, true),
    ('payouts_paused', false, true), ('payouts_resumed', false, true),
    ('position_limit_changed', false, true), ('rail_float_changed', false, true),
    ('bitcoin_batch_exported', false, false), ('bitcoin_batch_imported', false, false), ('bitcoin_batch_replaced', false, false),
    ('bitcoin_batch_canceled', false, true),
    ('network_payouts_exported', false, false), ('network_payouts_imported', false, false);

CREATE FUNCTION operator_actions_require_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM operator_action_kinds k
        WHERE k.action = NEW.action AND k.of_merchant = (NEW.merchant_id IS NOT NULL)
          AND (NEW.reason IS NOT NULL OR NOT k.needs_reason)
    ) THEN
        RAISE EXCEPTION 'an action of operators is of a known kind, with the merchant and the reason that it needs'
            USING ERRCODE = 'check_violation', TABLE = 'operator_actions', CONSTRAINT = 'operator_actions_allowed';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER of_known_kind BEFORE INSERT ON operator_actions
    FOR EACH ROW EXECUTE FUNCTION operator_actions_require_kind();
ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_allowed;
DROP FUNCTION operator_action_allowed;

-- What a posting that takes money out of a rail must belong to. The function of a kind of source gets its id and the posting: entry
-- type, mode, currency, account of the rail and amount. It says whether the source lets just that leave.
CREATE TABLE ledger_release_kinds (
    source_type text PRIMARY KEY,
    released_by text NOT NULL
);
INSERT INTO ledger_release_kinds (source_type, released_by) VALUES
    ('withdrawal', 'outgoing_transfer_lets_leave'),
    ('refund', 'outgoing_transfer_lets_leave'),
    ('chargeback', 'chargeback_lets_leave'),
    ('bank_entry', 'bank_entry_lets_leave'),
    ('bank_transfer', 'bank_entry_part_lets_leave'),
    ('adjustment', 'adjustment_lets_leave'),
    ('payment_reversal', 'payment_reversal_lets_leave'),
    ('chain_payout', 'chain_payout_lets_leave'),
    ('rail_float', 'rail_float_lets_leave'),
    ('balance_transaction', 'provider_balance_transaction_lets_leave'),
    ('bitcoin_batch', 'bitcoin_batch_lets_leave');

CREATE FUNCTION outgoing_transfer_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                             p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE o.id = p_id AND o.kind = p_kind AND (o.mode, o.currency, 'rail:' || o.rail) = (p_mode, p_currency, p_code)
          AND o.released_at IS NOT NULL AND o.closed_at IS NULL
          AND ((p_type = o.kind AND p_amount = o.amount_minor) OR (p_type = 'network_fee' AND o.kind = 'withdrawal')));
END $$;

CREATE FUNCTION chargeback_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                      p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'chargeback' AND EXISTS (
        SELECT FROM chargebacks c JOIN transactions p ON p.id = c.transaction_id
        WHERE c.id = p_id AND (c.mode, c.currency, 'rail:' || p.rail) = (p_mode, p_currency, p_code) AND p_amount = c.amount_minor);
END $$;

CREATE FUNCTION bank_entry_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                      p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'bank_entry' AND p_code = 'rail:bank' AND EXISTS (
        SELECT FROM bank_entries e
        WHERE e.id = p_id AND e.side = 'credit' AND e.currency = p_currency AND p_amount <= e.amount_minor);
END $$;

CREATE FUNCTION bank_entry_part_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                           p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_code = 'rail:bank' AND EXISTS (
        SELECT FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id LEFT JOIN bank_payouts b ON b.id = p.payout_id
        WHERE p.id = p_id AND e.side = 'credit' AND e.currency = p_currency
          AND ((p_type = 'bank_assignment' AND p_amount = p.amount_minor)
               OR (p_type = 'bank_return_fee' AND p_amount = b.amount_minor - p.amount_minor)));
END $$;

CREATE FUNCTION adjustment_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                      p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'adjustment' AND p_code = 'rail:bank' AND EXISTS (
        SELECT FROM operator_actions o
        WHERE o.id = p_id AND o.action = 'balance_adjusted'
          AND (o.mode, o.currency, o.amount_minor) = (p_mode, p_currency, -p_amount));
END $$;

CREATE FUNCTION payment_reversal_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                            p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'payment_reversal' AND EXISTS (
        SELECT FROM payment_reversals v
        WHERE v.id = p_id AND (v.mode, v.currency, 'rail:' || v.rail) = (p_mode, p_currency, p_code)
          AND p_amount = v.unapplied_minor + v.lost_minor);
END $$;

CREATE FUNCTION chain_payout_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                        p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'network_fee' AND EXISTS (
        SELECT FROM chain_payouts p
        WHERE p.id = p_id AND p.status IN ('completed', 'failed')
          AND (p.mode, p.fee_currency, 'rail:' || p.rail, p.fee_minor) = (p_mode, p_currency, p_code, p_amount));
END $$;

CREATE FUNCTION rail_float_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                      p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'rail_float' AND EXISTS (
        SELECT FROM rail_floats f
        WHERE f.id = p_id AND (f.mode, f.currency, 'rail:' || f.rail, -f.amount_minor) = (p_mode, p_currency, p_code, p_amount));
END $$;

CREATE FUNCTION provider_balance_transaction_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text,
                                                        p_code text, p_amount numeric) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM provider_balance_transactions b
        WHERE b.id = p_id AND b.settled_at IS NOT NULL AND (b.mode, b.currency, 'rail:' || b.rail) = (p_mode, p_currency, p_code)
          AND p_amount = CASE
              WHEN p_type = 'provider_fee' THEN b.fee_minor - CASE WHEN b.kind = 'fee' THEN b.amount_minor ELSE 0 END
              WHEN p_type = 'provider_payout' AND b.kind = 'payout' THEN -b.amount_minor END);
END $$;

CREATE FUNCTION bitcoin_batch_lets_leave(p_kind text, p_id uuid, p_type text, p_mode text, p_currency text, p_code text,
                                         p_amount numeric) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN p_type = 'network_fee' AND EXISTS (
        SELECT FROM bitcoin_batches b
        WHERE b.id = p_id AND b.status = 'confirmed'
          AND (b.mode, 'BTC', 'rail:' || b.rail, b.expensed_fee_minor) = (p_mode, p_currency, p_code, p_amount));
END $$;

CREATE OR REPLACE FUNCTION ledger_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_out record;
    v_source record;
    v_is_released boolean;
BEGIN
    FOR v_out IN
        SELECT n.transaction_id, n.mode, n.currency, n.type, a.code, sum(n.amount) AS amount
        FROM posted n JOIN ledger_accounts a ON a.id = n.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
        GROUP BY n.transaction_id, n.mode, n.currency, n.type, a.code
    LOOP
        v_is_released := false;
        SELECT t.source_type, t.source_id, k.released_by INTO v_source
        FROM ledger_transactions t JOIN ledger_release_kinds k ON k.source_type = t.source_type
        WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode;
        IF FOUND THEN
            EXECUTE format('SELECT %I($1, $2, $3, $4, $5, $6, $7)', v_source.released_by) INTO v_is_released
                USING v_source.source_type, v_source.source_id, v_out.type, v_out.mode, v_out.currency, v_out.code, v_out.amount;
        END IF;
        IF v_is_released IS NOT TRUE THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- What versions before 0.3.0 called.
DROP FUNCTION webhook_events_record(uuid, uuid, text, text, text, uuid, bigint, bytea, text, bigint, text, boolean, timestamptz, interval);
DROP FUNCTION webhook_events_record_balance(uuid, uuid, text, text, uuid, uuid[], bytea, text, bigint, boolean, timestamptz, interval);
