-- Payouts in bitcoin. A batch is one transaction: its draft is exported, signed elsewhere, imported and sent. Replacements of it spend the
-- same coins, so at most one of them is ever in a block.

CREATE TABLE bitcoin_payouts (
    id uuid PRIMARY KEY REFERENCES outgoing_transfers,
    kind text NOT NULL CHECK (kind IN ('withdrawal', 'refund')),
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL,
    address text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    status text NOT NULL CHECK (status IN ('waiting', 'batched', 'completed', 'failed')),
    txid text CHECK (txid ~ '^[0-9a-f]{64}$'),  -- of the transaction that paid it
    fee_minor bigint CHECK (fee_minor >= 0),  -- its share of the network fee
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT bitcoin_payouts_paid CHECK ((txid IS NOT NULL) = (status = 'completed') AND (txid IS NULL) = (fee_minor IS NULL))
);
CREATE INDEX bitcoin_payouts_open ON bitcoin_payouts (rail, mode, created_at) WHERE status IN ('waiting', 'batched');
CREATE TRIGGER never_deleted BEFORE DELETE ON bitcoin_payouts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

CREATE TABLE bitcoin_batches (
    id uuid PRIMARY KEY,
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    status text NOT NULL CHECK (status IN ('requested', 'drafted', 'signed', 'broadcast', 'confirmed', 'canceled')),
    is_draft_due boolean NOT NULL,  -- the worker makes the draft, or a replacement
    wanted_rate bigint CHECK (wanted_rate > 0),  -- satoshis per 1000 virtual bytes of the next draft; NULL: as the node estimates
    change_index bigint CHECK (change_index >= 0 AND change_index < 2147483648),
    txid text CHECK (txid ~ '^[0-9a-f]{64}$'),  -- of the transaction that is final
    confirmations integer NOT NULL DEFAULT 0 CHECK (confirmations >= 0),
    expensed_fee_minor bigint CHECK (expensed_fee_minor >= 0),  -- of the network fee, what no withdrawal pays
    conflict_height bigint CHECK (conflict_height >= 0),  -- at which a coin of it was first found to be spent otherwise
    void_at timestamptz,  -- that is final: no transaction of this batch can be in a block any more
    reason text,  -- why it waits
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    check_at timestamptz,  -- NULL: nothing is left to do
    UNIQUE (rail, mode, change_index),
    CONSTRAINT bitcoin_batches_confirmed CHECK ((txid IS NOT NULL) = (status = 'confirmed') AND (txid IS NULL) = (expensed_fee_minor IS NULL)),
    CONSTRAINT bitcoin_batches_drafted CHECK (change_index IS NOT NULL OR status IN ('requested', 'canceled'))
);
CREATE INDEX bitcoin_batches_due ON bitcoin_batches (rail, mode, check_at) WHERE check_at IS NOT NULL;
CREATE TRIGGER never_deleted BEFORE DELETE ON bitcoin_batches FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

-- Drafts of a batch: each replaces the ones before. The transaction ID does not depend on signatures.
CREATE TABLE bitcoin_transactions (
    batch_id uuid NOT NULL REFERENCES bitcoin_batches,
    number integer NOT NULL CHECK (number > 0),
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    txid text NOT NULL CHECK (txid ~ '^[0-9a-f]{64}$'),
    psbt text NOT NULL,
    rate bigint NOT NULL CHECK (rate > 0),  -- satoshis per 1000 virtual bytes
    fee_minor bigint NOT NULL CHECK (fee_minor > 0),
    change_minor bigint NOT NULL CHECK (change_minor >= 0),
    drafted_at timestamptz NOT NULL,
    raw bytea,  -- the signed form
    signed_at timestamptz,
    sent_at timestamptz,  -- when the node took it last
    PRIMARY KEY (batch_id, number),
    UNIQUE (rail, mode, txid),
    CONSTRAINT bitcoin_transactions_signed CHECK ((raw IS NULL) = (signed_at IS NULL) AND (raw IS NOT NULL OR sent_at IS NULL))
);
CREATE TRIGGER never_deleted BEFORE DELETE ON bitcoin_transactions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON bitcoin_transactions FOR EACH ROW
    WHEN ((OLD.batch_id, OLD.number, OLD.rail, OLD.mode, OLD.txid, OLD.psbt, OLD.rate, OLD.fee_minor, OLD.change_minor, OLD.drafted_at)
          IS DISTINCT FROM (NEW.batch_id, NEW.number, NEW.rail, NEW.mode, NEW.txid, NEW.psbt, NEW.rate, NEW.fee_minor, NEW.change_minor, NEW.drafted_at)
          OR (OLD.raw IS NOT NULL AND (OLD.raw, OLD.signed_at) IS DISTINCT FROM (NEW.raw, NEW.signed_at)))
    EXECUTE FUNCTION ledger_refuse_change();

-- The outputs and inputs of a batch. Each payout and each coin is in one batch at a time; a canceled one releases them.
CREATE TABLE bitcoin_batch_payouts (
    batch_id uuid NOT NULL REFERENCES bitcoin_batches,
    payout_id uuid NOT NULL REFERENCES bitcoin_payouts,
    number integer NOT NULL CHECK (number > 0),
    released_at timestamptz,
    PRIMARY KEY (batch_id, payout_id),
    UNIQUE (batch_id, number)
);
CREATE UNIQUE INDEX bitcoin_batch_payouts_held ON bitcoin_batch_payouts (payout_id) WHERE released_at IS NULL;
CREATE INDEX bitcoin_batch_payouts_of_payout ON bitcoin_batch_payouts (payout_id);
CREATE TABLE bitcoin_batch_coins (
    batch_id uuid NOT NULL REFERENCES bitcoin_batches,
    number integer NOT NULL CHECK (number > 0),
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    txid text NOT NULL CHECK (txid ~ '^[0-9a-f]{64}$'),
    vout integer NOT NULL CHECK (vout >= 0),
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    chain smallint NOT NULL CHECK (chain IN (0, 1)),  -- of deposit addresses, or of change
    derivation_index bigint NOT NULL CHECK (derivation_index >= 0),
    released_at timestamptz,
    PRIMARY KEY (batch_id, number)
);
CREATE UNIQUE INDEX bitcoin_batch_coins_held ON bitcoin_batch_coins (rail, mode, txid, vout) WHERE released_at IS NULL;
CREATE TRIGGER never_deleted BEFORE DELETE ON bitcoin_batch_payouts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON bitcoin_batch_coins FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON bitcoin_batch_payouts FOR EACH ROW
    WHEN ((OLD.batch_id, OLD.payout_id, OLD.number) IS DISTINCT FROM (NEW.batch_id, NEW.payout_id, NEW.number)
          OR (OLD.released_at IS NOT NULL AND OLD.released_at IS DISTINCT FROM NEW.released_at))
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE ON bitcoin_batch_coins FOR EACH ROW
    WHEN ((OLD.batch_id, OLD.number, OLD.rail, OLD.mode, OLD.txid, OLD.vout, OLD.amount_minor, OLD.chain, OLD.derivation_index)
          IS DISTINCT FROM
          (NEW.batch_id, NEW.number, NEW.rail, NEW.mode, NEW.txid, NEW.vout, NEW.amount_minor, NEW.chain, NEW.derivation_index)
          OR (OLD.released_at IS NOT NULL AND OLD.released_at IS DISTINCT FROM NEW.released_at))
    EXECUTE FUNCTION ledger_refuse_change();

-- A payout is of a released transfer and stays what it is. It is put into a batch while payouts are not paused and its merchant is active.
CREATE FUNCTION bitcoin_payouts_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.kind, OLD.rail, OLD.mode, OLD.currency, OLD.address, OLD.amount_minor, OLD.created_at)
           IS DISTINCT FROM (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.address, NEW.amount_minor, NEW.created_at)
        THEN
            RAISE EXCEPTION 'a payout in bitcoin stays what it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF OLD.status <> NEW.status THEN
            PERFORM state_transitions_require('bitcoin_payouts', OLD.status, NEW.status);
        END IF;
    END IF;
    IF (TG_OP = 'INSERT' OR (OLD.status, NEW.status) = ('waiting', 'batched')) AND NOT EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE (o.id, o.kind, o.rail, o.mode, o.currency, o.amount_minor)
              = (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.amount_minor)
          AND NEW.address IN (o.receiver, lower(o.receiver)) AND o.released_at IS NOT NULL AND o.closed_at IS NULL)
    THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'batched' AND (TG_OP = 'INSERT' OR OLD.status <> 'batched') AND NEW.mode = 'live' THEN
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        PERFORM FROM outgoing_transfers o JOIN merchants m ON m.id = o.merchant_id
        WHERE o.id = NEW.id AND m.suspended_at IS NULL FOR SHARE OF m;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bitcoin_payouts_enforced BEFORE INSERT OR UPDATE ON bitcoin_payouts
    FOR EACH ROW EXECUTE FUNCTION bitcoin_payouts_enforce();

-- What is signed is stored before it is sent, and may be sent: such a batch is canceled only when it is void.
CREATE FUNCTION bitcoin_batches_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.id, OLD.rail, OLD.mode, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.rail, NEW.mode, NEW.created_at)
       OR (OLD.change_index IS NOT NULL AND OLD.change_index IS DISTINCT FROM NEW.change_index)
       OR (OLD.status = 'confirmed'
           AND (OLD.txid, OLD.expensed_fee_minor) IS DISTINCT FROM (NEW.txid, NEW.expensed_fee_minor))
    THEN
        RAISE EXCEPTION 'a batch stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.status <> NEW.status THEN
        PERFORM state_transitions_require('bitcoin_batches', OLD.status, NEW.status);
        IF NEW.status IN ('signed', 'broadcast')
           AND NOT EXISTS (SELECT FROM bitcoin_transactions t WHERE t.batch_id = NEW.id AND t.raw IS NOT NULL) THEN
            RAISE EXCEPTION 'the signed bytes are stored first' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.status = 'confirmed'
           AND NOT EXISTS (SELECT FROM bitcoin_transactions t WHERE (t.batch_id, t.txid) = (NEW.id, NEW.txid)) THEN
            RAISE EXCEPTION 'a batch is confirmed by one of its transactions' USING ERRCODE = 'check_violation';
        END IF;
        IF NEW.status = 'canceled' AND NEW.void_at IS NULL
           AND EXISTS (SELECT FROM bitcoin_transactions t WHERE t.batch_id = NEW.id AND t.raw IS NOT NULL) THEN
            RAISE EXCEPTION 'what is signed may be sent' USING ERRCODE = 'check_violation', CONSTRAINT = 'bitcoin_batches_canceled';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bitcoin_batches_enforced BEFORE UPDATE ON bitcoin_batches
    FOR EACH ROW EXECUTE FUNCTION bitcoin_batches_enforce();

INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('bitcoin_payouts', 'waiting', 'batched'), ('bitcoin_payouts', 'batched', 'waiting'), ('bitcoin_payouts', 'waiting', 'failed'),
    ('bitcoin_payouts', 'waiting', 'completed'), ('bitcoin_payouts', 'batched', 'completed'),
    ('bitcoin_batches', 'requested', 'drafted'), ('bitcoin_batches', 'requested', 'canceled'),
    ('bitcoin_batches', 'drafted', 'signed'), ('bitcoin_batches', 'drafted', 'broadcast'), ('bitcoin_batches', 'drafted', 'confirmed'),
    ('bitcoin_batches', 'drafted', 'canceled'), ('bitcoin_batches', 'signed', 'broadcast'), ('bitcoin_batches', 'signed', 'confirmed'),
    ('bitcoin_batches', 'signed', 'canceled'), ('bitcoin_batches', 'broadcast', 'confirmed'),
    ('bitcoin_batches', 'broadcast', 'canceled'),
    ('bitcoin_batches', 'canceled', 'confirmed');  -- it was signed and sent by others after all

-- As before, and the actions on these batches.
CREATE OR REPLACE FUNCTION operator_action_allowed(p_action text, p_of_merchant boolean, p_has_reason boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE
        WHEN p_action = ANY (ARRAY['merchant_suspended', 'merchant_reactivated', 'merchant_exported', 'project_approval_given',
                                   'project_approved', 'withdrawal_approved', 'refund_approved', 'payout_approved',
                                   'application_suspended', 'application_reactivated'])
            THEN p_of_merchant
        WHEN p_action = ANY (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected', 'refund_rejected',
                                   'payout_refused', 'payout_to_be_refused', 'payout_returned', 'second_factor_removed',
                                   'merchant_erased'])
            THEN p_of_merchant AND p_has_reason
        WHEN p_action = ANY (ARRAY['operator_invited', 'operator_joined', 'operator_closed', 'statement_imported',
                                   'batch_exported', 'person_exported', 'person_erased',
                                   'bitcoin_batch_exported', 'bitcoin_batch_imported', 'bitcoin_batch_replaced'])
            THEN NOT p_of_merchant
        WHEN p_action = ANY (ARRAY['transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'transfer_recorded_as_fee',
                                   'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payouts_paused',
                                   'payouts_resumed', 'position_limit_changed', 'rail_float_changed',
                                   'bitcoin_batch_canceled'])
            THEN NOT p_of_merchant AND p_has_reason
        ELSE false
    END
$$;

-- As before, and the network fee of a batch that is final, as far as no withdrawal pays it.
CREATE OR REPLACE FUNCTION ledger_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_out record;
BEGIN
    FOR v_out IN
        SELECT n.transaction_id, n.mode, n.currency, n.type, a.code, sum(n.amount) AS amount
        FROM posted n JOIN ledger_accounts a ON a.id = n.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
        GROUP BY n.transaction_id, n.mode, n.currency, n.type, a.code
    LOOP
        IF NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN outgoing_transfers o ON o.id = t.source_id AND o.kind = t.source_type
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode
              AND (o.mode, o.currency, 'rail:' || o.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND o.released_at IS NOT NULL AND o.closed_at IS NULL
              AND ((v_out.type = o.kind AND v_out.amount = o.amount_minor)
                   OR (v_out.type = 'network_fee' AND o.kind = 'withdrawal'))
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN chargebacks c ON c.id = t.source_id
            JOIN transactions p ON p.id = c.transaction_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'chargeback'
              AND v_out.type = 'chargeback'
              AND (c.mode, c.currency, 'rail:' || p.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND v_out.amount = c.amount_minor
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN bank_entries e ON e.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'bank_entry'
              AND v_out.type = 'bank_entry' AND v_out.code = 'rail:bank' AND e.side = 'credit'
              AND e.currency = v_out.currency AND v_out.amount <= e.amount_minor
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN bank_entry_parts p ON p.id = t.source_id
            JOIN bank_entries e ON e.id = p.entry_id
            LEFT JOIN bank_payouts b ON b.id = p.payout_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'bank_transfer'
              AND v_out.code = 'rail:bank' AND e.side = 'credit' AND e.currency = v_out.currency
              AND ((v_out.type = 'bank_assignment' AND v_out.amount = p.amount_minor)
                   OR (v_out.type = 'bank_return_fee' AND v_out.amount = b.amount_minor - p.amount_minor))
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN operator_actions o ON o.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'adjustment'
              AND v_out.type = 'adjustment' AND v_out.code = 'rail:bank' AND o.action = 'balance_adjusted'
              AND (o.mode, o.currency, o.amount_minor) = (v_out.mode, v_out.currency, -v_out.amount)
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN payment_reversals v ON v.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'payment_reversal'
              AND v_out.type = 'payment_reversal'
              AND (v.mode, v.currency, 'rail:' || v.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND v_out.amount = v.unapplied_minor + v.lost_minor
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN chain_payouts p ON p.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'chain_payout'
              AND v_out.type = 'network_fee' AND p.status IN ('completed', 'failed')
              AND (p.mode, p.fee_currency, 'rail:' || p.rail, p.fee_minor)
                  = (v_out.mode, v_out.currency, v_out.code, v_out.amount)
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN rail_floats f ON f.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'rail_float'
              AND v_out.type = 'rail_float'
              AND (f.mode, f.currency, 'rail:' || f.rail, -f.amount_minor)
                  = (v_out.mode, v_out.currency, v_out.code, v_out.amount)
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN provider_balance_transactions b ON b.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'balance_transaction'
              AND b.settled_at IS NOT NULL
              AND (b.mode, b.currency, 'rail:' || b.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND v_out.amount = CASE v_out.type
                  WHEN 'provider_fee' THEN b.fee_minor - CASE b.kind WHEN 'fee' THEN b.amount_minor ELSE 0 END
                  WHEN 'provider_payout' THEN CASE b.kind WHEN 'payout' THEN -b.amount_minor END END
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN bitcoin_batches b ON b.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'bitcoin_batch'
              AND v_out.type = 'network_fee' AND b.status = 'confirmed'
              AND (b.mode, 'BTC', 'rail:' || b.rail, b.expensed_fee_minor)
                  = (v_out.mode, v_out.currency, v_out.code, v_out.amount)
        ) THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
