-- Withdrawals: what is quoted, what is asked for, and how much of it a day.

CREATE TABLE withdrawal_quotes (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    method_id text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    network_fee_mode text NOT NULL CHECK (network_fee_mode IN ('deduct', 'add')),
    system_fee_minor bigint NOT NULL CHECK (system_fee_minor >= 0),
    network_fee_minor bigint NOT NULL CHECK (network_fee_minor >= 0),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),  -- by the test clock, where that is ahead
    used_at timestamptz
);
CREATE INDEX withdrawal_quotes_old ON withdrawal_quotes (created_at);

CREATE TABLE withdrawals (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    method_id text NOT NULL,
    rail text NOT NULL CHECK (mode = 'test' OR rail <> 'sandbox'),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    network_fee_mode text NOT NULL CHECK (network_fee_mode IN ('deduct', 'add')),
    system_fee_minor bigint NOT NULL CHECK (system_fee_minor >= 0),
    network_fee_minor bigint NOT NULL CHECK (network_fee_minor >= 0),  -- as charged
    debit_minor bigint NOT NULL,
    receive_minor bigint NOT NULL CHECK (receive_minor > 0),
    receiver text NOT NULL,
    provider_fields jsonb NOT NULL CHECK (jsonb_typeof(provider_fields) = 'object'),
    quote_id uuid CONSTRAINT withdrawals_quote_once UNIQUE,
    hold_id uuid NOT NULL UNIQUE REFERENCES ledger_holds,
    limit_day date NOT NULL,  -- the day in whose limit it counts
    status text NOT NULL CHECK (status IN ('pending_review', 'approved', 'processing', 'completed', 'failed', 'canceled')),
    submission text CHECK (submission IN ('prepared', 'accepted', 'unknown')),  -- what is known of handing it to the rail
    provider_reference text,
    tx_hash text,
    network_paid_minor bigint CHECK (network_paid_minor >= 0),  -- what the rail really took for the way
    failure_code text,
    approvals_needed int NOT NULL CHECK (approvals_needed BETWEEN 0 AND 2),
    approvals text[] NOT NULL DEFAULT '{}',  -- the operators who approved
    reviewed_at timestamptz,
    review_note text,
    webhook_url text,
    external_id text,
    description text,
    metadata jsonb NOT NULL,
    version int NOT NULL DEFAULT 1,
    next_look_at timestamptz,  -- when the worker sends it, or asks the rail next; null where it need not
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    processing_at timestamptz,
    completed_at timestamptz,
    UNIQUE (merchant_id, mode, id),
    CONSTRAINT withdrawals_external_id UNIQUE (merchant_id, mode, external_id),
    CONSTRAINT withdrawals_terms CHECK (
        debit_minor = amount_minor + CASE network_fee_mode WHEN 'add' THEN system_fee_minor + network_fee_minor ELSE 0 END
        AND receive_minor = debit_minor - system_fee_minor - network_fee_minor),
    -- In live mode no money is sent, nor about to be, before as many operators as needed have approved it.
    CONSTRAINT withdrawals_reviewed CHECK (
        (mode = 'test' OR approvals_needed >= 1)
        AND (status NOT IN ('approved', 'processing', 'completed') AND processing_at IS NULL
             OR cardinality(approvals) >= approvals_needed)),
    CHECK ((processing_at IS NOT NULL) = (submission IS NOT NULL)),
    CHECK (status NOT IN ('processing', 'completed') OR processing_at IS NOT NULL),
    CHECK (status NOT IN ('pending_review', 'approved', 'canceled') OR processing_at IS NULL),
    CHECK (status <> 'completed' OR completed_at IS NOT NULL),
    CHECK ((completed_at IS NOT NULL) = (network_paid_minor IS NOT NULL)),
    CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CHECK (next_look_at IS NULL OR status IN ('approved', 'processing'))
) WITH (fillfactor = 85);
CREATE INDEX withdrawals_of_merchant ON withdrawals (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX withdrawals_due ON withdrawals (next_look_at) WHERE next_look_at IS NOT NULL;
CREATE INDEX withdrawals_to_review ON withdrawals (created_at, id) WHERE status = 'pending_review';

-- Which state follows which; nothing else is ever written.
CREATE FUNCTION withdrawals_refuse_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.status
        WHEN 'pending_review' THEN NEW.status IN ('approved', 'failed', 'canceled')
        WHEN 'approved' THEN NEW.status IN ('processing', 'failed', 'canceled')
        WHEN 'processing' THEN NEW.status IN ('completed', 'failed')
        WHEN 'completed' THEN NEW.status = 'failed'  -- the bank sent it back
        ELSE false
    END) THEN
        RAISE EXCEPTION 'a withdrawal that is % does not become %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER withdrawals_step BEFORE UPDATE OF status ON withdrawals FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION withdrawals_refuse_step();

-- How much was asked for in a day, by a method: what failed or was canceled is taken out again.
CREATE TABLE withdrawal_days (
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    method_id text NOT NULL,
    day date NOT NULL,  -- UTC
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    PRIMARY KEY (merchant_id, mode, method_id, day)
) WITH (fillfactor = 85);
