-- What changed the balance at a card provider, each once: payments, refunds, disputes, its fees, and its payouts to the bank.
CREATE TABLE provider_balance_transactions (
    id uuid PRIMARY KEY,
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    external_id text NOT NULL CHECK (length(external_id) <= 255),
    kind text NOT NULL CHECK (kind IN ('payment', 'refund', 'dispute', 'payout', 'fee', 'other')),
    category text NOT NULL CHECK (length(category) <= 100),  -- in the provider's words
    source text CHECK (length(source) <= 255),  -- the provider's object that it is of
    payment_intent text CHECK (length(payment_intent) <= 255),
    object_id uuid,  -- our payment or refund, by the metadata of the source
    currency text NOT NULL,
    amount_minor bigint NOT NULL,  -- without the fee
    fee_minor bigint NOT NULL,  -- below zero if it was given back
    created_at timestamptz NOT NULL,  -- at the provider
    available_at timestamptz NOT NULL,
    settled_at timestamptz,  -- when the ledger had all of it; NULL while it does not
    posted_currency text,  -- what the ledger has, if it is in another currency
    posted_minor bigint,
    UNIQUE (rail, mode, external_id),
    CHECK ((posted_currency IS NULL) = (posted_minor IS NULL)),
    CHECK (posted_currency IS NULL OR (settled_at IS NOT NULL AND posted_currency <> currency)),
    CHECK (kind NOT IN ('payment', 'refund') OR object_id IS NOT NULL),
    CHECK (kind NOT IN ('payment', 'dispute') OR payment_intent IS NOT NULL)
);
CREATE INDEX provider_balance_transactions_open ON provider_balance_transactions (rail, mode, created_at)
    WHERE settled_at IS NULL;
CREATE INDEX provider_balance_transactions_intent ON provider_balance_transactions (payment_intent)
    WHERE payment_intent IS NOT NULL;
CREATE INDEX provider_balance_transactions_object ON provider_balance_transactions (object_id) WHERE object_id IS NOT NULL;
CREATE INDEX provider_balance_transactions_converted ON provider_balance_transactions (rail, mode)
    WHERE posted_currency IS NOT NULL;
CREATE TRIGGER never_changed BEFORE UPDATE ON provider_balance_transactions FOR EACH ROW
    WHEN (OLD.settled_at IS NOT NULL
          OR (OLD.id, OLD.rail, OLD.mode, OLD.external_id, OLD.kind, OLD.category, OLD.source, OLD.payment_intent, OLD.object_id,
              OLD.currency, OLD.amount_minor, OLD.fee_minor, OLD.created_at, OLD.available_at)
             IS DISTINCT FROM
             (NEW.id, NEW.rail, NEW.mode, NEW.external_id, NEW.kind, NEW.category, NEW.source, NEW.payment_intent, NEW.object_id,
              NEW.currency, NEW.amount_minor, NEW.fee_minor, NEW.created_at, NEW.available_at))
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON provider_balance_transactions
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON provider_balance_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Up to when they were read, and when they are read again.
CREATE TABLE provider_balance_cursors (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    read_until timestamptz NOT NULL,
    next_read_at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode)
);

-- As before, and `transit`: payouts of providers that are on their way to the bank account.
CREATE OR REPLACE FUNCTION ledger_normal_side(p_merchants boolean, p_code text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN CASE
        WHEN p_merchants THEN
            CASE WHEN p_code IN ('available', 'pending', 'reserved') THEN 'credit' WHEN p_code = 'debt' THEN 'debit' END
        WHEN p_code = 'fx' OR p_code ~ '^(unapplied|unmatched|income|payable|equity):[a-z0-9_]+$' THEN 'credit'
        WHEN p_code ~ '^(rail|bank|transit|expense):[a-z0-9_]+$' THEN 'debit'
    END;
END $$;

-- As before, and what a provider takes as its fee or pays out to the operator.
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
        ) THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
