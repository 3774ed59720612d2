-- What the bank says of the account of the house, and what leaves it. All of it is live: in test there is no bank.

CREATE TABLE bank_statements (
    id uuid PRIMARY KEY,
    iban text NOT NULL,
    statement_id text NOT NULL,  -- the bank's, which some use again each year
    currency text,
    opening_minor bigint,
    closing_minor bigint,
    first_on date,
    last_on date,
    entries int NOT NULL CHECK (entries >= 0),
    digest bytea NOT NULL UNIQUE,  -- of all that it says: the same statement is kept once
    imported_by text NOT NULL CHECK (imported_by <> ''),
    imported_at timestamptz NOT NULL
);
CREATE INDEX bank_statements_newest ON bank_statements (imported_at DESC, id DESC);

-- Each line of the account once, however many statements show it.
CREATE TABLE bank_entries (
    id uuid PRIMARY KEY,
    identity bytea NOT NULL UNIQUE CHECK (length(identity) = 32),
    first_statement_id uuid NOT NULL REFERENCES bank_statements,
    side text NOT NULL CHECK (side IN ('credit', 'debit')),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    booked_on date NOT NULL,
    is_reversal boolean NOT NULL,
    batch_reference text,
    bank_reference text
);

CREATE TABLE bank_batches (
    id uuid PRIMARY KEY,  -- in the file, so that the bank knows the same one again
    iban text NOT NULL,
    bic text,
    holder text NOT NULL,
    exported_by text NOT NULL CHECK (exported_by <> ''),
    exported_at timestamptz NOT NULL
);

-- Money on its way out: prepared, exported in a batch, confirmed by the statement, and sent back sometimes.
CREATE TABLE bank_payouts (
    id uuid PRIMARY KEY,  -- of the refund or withdrawal that it carries out: it can leave once, ever
    kind text NOT NULL CHECK (kind IN ('refund', 'withdrawal')),
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode = 'live'),
    currency text NOT NULL CHECK (currency = 'EUR'),
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    receiver_iban text NOT NULL,
    receiver_name text NOT NULL,
    words text NOT NULL,
    status text NOT NULL CHECK (status IN ('prepared', 'exported', 'confirmed', 'returned', 'refused')),
    batch_id uuid REFERENCES bank_batches,
    prepared_at timestamptz NOT NULL,
    debited_at timestamptz,  -- when a statement showed it leave
    ended_because text,  -- the bank's code of a return, the operator's reason of a refusal
    ended_by text,
    updated_at timestamptz NOT NULL,
    CHECK (status NOT IN ('exported', 'confirmed', 'returned') OR batch_id IS NOT NULL),
    CHECK (status <> 'prepared' OR batch_id IS NULL),
    CHECK (status <> 'confirmed' OR debited_at IS NOT NULL),
    CHECK (status IN ('confirmed', 'returned') OR debited_at IS NULL),
    CHECK ((status IN ('returned', 'refused')) = (ended_because IS NOT NULL)),
    CHECK ((status = 'refused') = (ended_by IS NOT NULL))
);
CREATE INDEX bank_payouts_newest ON bank_payouts (prepared_at DESC, id DESC);
CREATE INDEX bank_payouts_prepared ON bank_payouts (prepared_at) WHERE status = 'prepared';
CREATE INDEX bank_payouts_of_batch ON bank_payouts (batch_id);

CREATE FUNCTION bank_payouts_refuse_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.status
        WHEN 'prepared' THEN NEW.status IN ('exported', 'refused')
        WHEN 'exported' THEN NEW.status IN ('confirmed', 'returned', 'refused')
        WHEN 'confirmed' THEN NEW.status = 'returned'
        ELSE false
    END) THEN
        RAISE EXCEPTION 'a payout that is % does not become %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bank_payouts_step BEFORE UPDATE OF status ON bank_payouts FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION bank_payouts_refuse_step();
CREATE TRIGGER never_redirected
    BEFORE UPDATE OF id, kind, merchant_id, mode, currency, amount_minor, receiver_iban, receiver_name, words ON bank_payouts
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON bank_payouts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

-- The transfers of an entry, and what each was taken for. What nobody could place waits for an operator.
CREATE TABLE bank_entry_parts (
    id uuid PRIMARY KEY,
    entry_id uuid NOT NULL REFERENCES bank_entries,
    nth int NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    reference text,  -- ours, where it was found in what the customer wrote
    end_to_end_id text,
    other_name text,
    other_iban text,
    words text NOT NULL,
    return_reason text,
    outcome text NOT NULL CHECK (outcome IN ('payment', 'payment_return', 'payout', 'payout_return', 'unmatched', 'dismissed')),
    payout_id uuid REFERENCES bank_payouts,
    because text,  -- why nobody could place it
    decided_by text,
    decided_because text,
    decided_at timestamptz,
    UNIQUE (entry_id, nth),
    CHECK (outcome NOT IN ('payment', 'payment_return') OR reference IS NOT NULL),
    CHECK (outcome <> 'unmatched' OR (because IS NOT NULL AND decided_at IS NULL)),
    CHECK (outcome <> 'dismissed' OR decided_at IS NOT NULL),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL) AND (decided_at IS NULL) = (decided_because IS NULL))
);
CREATE INDEX bank_entry_parts_unmatched ON bank_entry_parts (id) WHERE outcome = 'unmatched';
CREATE INDEX bank_entry_parts_of_payment ON bank_entry_parts (reference) WHERE outcome = 'payment';
CREATE INDEX bank_entry_parts_of_payout ON bank_entry_parts (payout_id) WHERE payout_id IS NOT NULL;

CREATE FUNCTION bank_entry_parts_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what was done with money of the bank is done' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER decided_once BEFORE UPDATE ON bank_entry_parts FOR EACH ROW
    WHEN (OLD.outcome <> 'unmatched' OR OLD.amount_minor <> NEW.amount_minor OR OLD.entry_id <> NEW.entry_id)
    EXECUTE FUNCTION bank_entry_parts_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON bank_entry_parts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON bank_entry_parts FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON bank_entries FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON bank_statements FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON bank_batches FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
