-- Payment links and the transactions that pay them.

CREATE TABLE payment_links (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    token text NOT NULL UNIQUE CHECK (token ~ '^[a-z2-7]{26}$'),  -- the public address of the checkout page: 128 random bits, made to be given away
    project_id uuid NOT NULL,
    display_name text NOT NULL,
    description text,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    currency text NOT NULL,
    webhook_url text,
    external_id text,
    metadata jsonb NOT NULL,
    payment_method_ids text[],
    success_url text,
    cancel_url text,
    customer_email text,
    max_payments int CHECK (max_payments BETWEEN 1 AND 10000),  -- null: unlimited
    payments_count int NOT NULL DEFAULT 0 CHECK (payments_count >= 0),
    amount_paid_minor bigint NOT NULL DEFAULT 0 CHECK (amount_paid_minor >= 0),
    latest_transaction_id uuid,
    created_by_type text NOT NULL CHECK (created_by_type IN ('api_key', 'oauth', 'dashboard')),
    created_by_client_id text,
    status text NOT NULL CHECK (status IN ('active', 'completed', 'expired', 'canceled')),
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    completed_at timestamptz,
    canceled_at timestamptz,
    FOREIGN KEY (merchant_id, mode, project_id) REFERENCES projects (merchant_id, mode, id),
    UNIQUE (merchant_id, mode, id),
    CHECK (max_payments IS NULL OR payments_count <= max_payments),
    CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
    CHECK ((status = 'canceled') = (canceled_at IS NOT NULL)),
    CHECK (expires_at > created_at)
) WITH (fillfactor = 85);
CREATE INDEX payment_links_of_merchant ON payment_links (merchant_id, mode, created_at DESC, id DESC);

CREATE INDEX payment_links_due ON payment_links (expires_at) WHERE status = 'active';
CREATE INDEX payment_links_due_of_merchant ON payment_links (merchant_id, expires_at) WHERE status = 'active' AND mode = 'test';

-- How far a merchant has moved the clock of its test environment ahead: for product timers, never for tokens.
CREATE TABLE test_clocks (
    merchant_id uuid PRIMARY KEY REFERENCES merchants,
    mode text NOT NULL DEFAULT 'test' CHECK (mode = 'test'),
    ahead interval NOT NULL CHECK (ahead > '0' AND ahead <= '10 years')
);

-- Received money is credited to the merchant, kept apart as unapplied, or given back from there; nothing else.
CREATE TABLE transactions (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    payment_link_id uuid NOT NULL,
    method_id text NOT NULL,
    method_type text NOT NULL,
    rail text NOT NULL CHECK (mode = 'test' OR rail <> 'sandbox'),
    rail_reference text NOT NULL,  -- by which the rail's observations find this row
    instructions jsonb NOT NULL,  -- what the customer was told: reference, address, words
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    received_minor bigint NOT NULL DEFAULT 0 CHECK (received_minor >= 0),
    credited_minor bigint NOT NULL DEFAULT 0 CHECK (credited_minor >= 0),  -- of it, what the merchant got, ever
    unapplied_minor bigint NOT NULL DEFAULT 0 CHECK (unapplied_minor >= 0),  -- of it, what waits for a decision
    fee_minor bigint NOT NULL DEFAULT 0 CHECK (fee_minor >= 0),
    refunded_minor bigint NOT NULL DEFAULT 0 CHECK (refunded_minor >= 0),
    returning_minor bigint NOT NULL DEFAULT 0 CHECK (returning_minor >= 0),  -- in refunds that have not ended
    returning_unapplied_minor bigint NOT NULL DEFAULT 0 CHECK (returning_unapplied_minor >= 0),
    charged_back_minor bigint NOT NULL DEFAULT 0 CHECK (charged_back_minor >= 0),
    confirmations int CHECK (confirmations >= 0),
    required_confirmations int CHECK (required_confirmations >= confirmations),
    status text NOT NULL CHECK (status IN ('pending', 'processing', 'succeeded', 'failed', 'expired', 'refund_required',
                                           'partially_refunded', 'refunded', 'chargeback')),
    failure_code text,
    refund_required_reason text CHECK (refund_required_reason IN ('underpaid', 'late', 'duplicate', 'after_cancel', 'wrong_asset')),
    late boolean NOT NULL DEFAULT false,
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    succeeded_at timestamptz,
    FOREIGN KEY (merchant_id, mode, payment_link_id) REFERENCES payment_links (merchant_id, mode, id),
    UNIQUE (merchant_id, mode, id),
    UNIQUE (rail, mode, rail_reference),
    CHECK (fee_minor <= credited_minor),
    CHECK (credited_minor + unapplied_minor <= received_minor),
    CHECK (received_minor - credited_minor - unapplied_minor <= refunded_minor),
    CHECK (returning_unapplied_minor <= least(unapplied_minor, returning_minor)),
    CONSTRAINT transactions_given_back_once
        CHECK (refunded_minor + returning_minor + charged_back_minor <= received_minor - (unapplied_minor - returning_unapplied_minor)),
    CHECK (status <> 'failed' OR (failure_code IS NOT NULL AND received_minor = 0)),
    CHECK (status <> 'expired' OR received_minor = 0),
    CHECK (status <> 'refund_required' OR (refund_required_reason IS NOT NULL AND unapplied_minor > 0)),
    CHECK (status NOT IN ('succeeded', 'partially_refunded', 'chargeback') OR (succeeded_at IS NOT NULL AND credited_minor > 0)),
    CHECK (status IN ('succeeded', 'partially_refunded', 'refunded', 'chargeback') OR credited_minor = 0),
    CHECK ((status = 'chargeback') = (charged_back_minor > 0))
) WITH (fillfactor = 85);
CREATE INDEX transactions_of_merchant ON transactions (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX transactions_underpaid ON transactions (payment_link_id) WHERE status = 'pending' AND received_minor > 0;
CREATE INDEX transactions_of_link ON transactions (payment_link_id, created_at DESC, id DESC);

-- Which state follows which; nothing else is ever written.
CREATE FUNCTION transactions_refuse_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.status
        WHEN 'pending' THEN NEW.status IN ('processing', 'succeeded', 'failed', 'expired', 'refund_required')
        WHEN 'processing' THEN NEW.status IN ('pending', 'succeeded', 'failed', 'refund_required')
        WHEN 'failed' THEN NEW.status IN ('succeeded', 'refund_required')
        WHEN 'expired' THEN NEW.status IN ('succeeded', 'refund_required')
        WHEN 'refund_required' THEN NEW.status IN ('succeeded', 'partially_refunded', 'refunded')
        WHEN 'succeeded' THEN NEW.status IN ('partially_refunded', 'refunded', 'chargeback')
        WHEN 'partially_refunded' THEN NEW.status IN ('succeeded', 'refunded', 'chargeback')
        WHEN 'refunded' THEN NEW.status IN ('succeeded', 'partially_refunded', 'refund_required')  -- the bank sent it back
        WHEN 'chargeback' THEN NEW.status IN ('succeeded', 'partially_refunded', 'refunded')  -- won
    END) THEN
        RAISE EXCEPTION 'a transaction that is % does not become %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER transactions_step BEFORE UPDATE OF status ON transactions FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION transactions_refuse_step();

-- The timeline of a transaction: a row for each of its versions.
CREATE TABLE transaction_steps (
    transaction_id uuid NOT NULL REFERENCES transactions,
    version int NOT NULL,
    status text NOT NULL,
    detail text,
    at timestamptz NOT NULL,
    PRIMARY KEY (transaction_id, version)
);

-- What rails saw, each once: a repeated callback finds its row and changes nothing.
CREATE TABLE rail_observations (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    external_ref text NOT NULL,  -- the rail's own name of the transfer
    outcome text NOT NULL CHECK (outcome IN ('seen', 'vanished', 'confirmed', 'failed')),
    merchant_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    confirmations int NOT NULL DEFAULT 0 CHECK (outcome = 'seen' OR confirmations = 0),  -- being confirmed is told step by step
    at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode, external_ref, outcome, confirmations),
    -- Deferred: money that starts a payment of its own is noted before that payment is begun.
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id) DEFERRABLE INITIALLY DEFERRED,
    CHECK (outcome <> 'confirmed' OR amount_minor > 0)
);
CREATE INDEX rail_observations_of_transaction ON rail_observations (transaction_id);

CREATE TABLE refunds (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    transaction_id uuid NOT NULL,
    rail text NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    unapplied_minor bigint NOT NULL CHECK (unapplied_minor BETWEEN 0 AND amount_minor),  -- the part the merchant never had
    hold_id uuid UNIQUE REFERENCES ledger_holds,
    status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    reason text NOT NULL CHECK (reason IN ('duplicate', 'fraudulent', 'customer_request', 'service_issue', 'other')),
    receiver text,
    failure_code text,
    provider_reference text,  -- set when the rail has accepted it
    external_id text,
    metadata jsonb NOT NULL,
    version int NOT NULL DEFAULT 1,
    next_look_at timestamptz,  -- when the worker asks the rail next; null when it has ended
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id),
    UNIQUE (merchant_id, mode, id),
    CHECK ((hold_id IS NULL) = (unapplied_minor = amount_minor)),
    CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CHECK ((status = 'pending') = (next_look_at IS NOT NULL))
) WITH (fillfactor = 85);
CREATE INDEX refunds_of_merchant ON refunds (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX refunds_of_transaction ON refunds (transaction_id, created_at DESC, id DESC);
CREATE INDEX refunds_due ON refunds (next_look_at) WHERE status = 'pending';

CREATE TABLE chargebacks (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    fee_minor bigint NOT NULL CHECK (fee_minor >= 0),
    reason text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'won', 'lost')),
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id),
    CHECK ((status = 'open') = (closed_at IS NULL))
);
CREATE UNIQUE INDEX chargebacks_one_standing ON chargebacks (transaction_id) WHERE status <> 'won';
CREATE INDEX chargebacks_of_transaction ON chargebacks (transaction_id, opened_at DESC);

-- What the simulator does by itself a little later.
CREATE TABLE sandbox_plans (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL DEFAULT 'test' CHECK (mode = 'test'),
    transaction_id uuid NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('succeed', 'chargeback')),
    due_at timestamptz NOT NULL,
    tries int NOT NULL DEFAULT 0,
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id)
);
CREATE INDEX sandbox_plans_due ON sandbox_plans (due_at);

-- A transaction with its link's facts and all that belongs to it, as the interface shows it.
CREATE VIEW whole_transactions AS
SELECT t.*, l.status AS link_status, l.expires_at AS link_expires_at, l.project_id, l.external_id, l.metadata, l.webhook_url,
       coalesce((SELECT c.ahead FROM test_clocks c WHERE c.merchant_id = t.merchant_id AND c.mode = t.mode), '0') AS ahead,
       coalesce((SELECT json_agg(json_build_object('status', s.status, 'at', s.at, 'detail', s.detail) ORDER BY s.version)
                 FROM transaction_steps s WHERE s.transaction_id = t.id), '[]') AS timeline,
       coalesce((SELECT json_agg(json_build_object(
                     'id', r.id, 'transaction_id', r.transaction_id, 'currency', r.currency, 'amount_minor', r.amount_minor,
                     'unapplied_minor', r.unapplied_minor, 'hold_id', r.hold_id, 'status', r.status, 'reason', r.reason,
                     'receiver', r.receiver, 'failure_code', r.failure_code, 'provider_reference', r.provider_reference,
                     'external_id', r.external_id, 'metadata', r.metadata, 'version', r.version,
                     'created_at', r.created_at, 'updated_at', r.updated_at) ORDER BY r.created_at DESC, r.id DESC)
                 FROM refunds r WHERE r.transaction_id = t.id), '[]') AS refunds,
       (SELECT json_build_object('id', d.id, 'amount_minor', d.amount_minor, 'fee_minor', d.fee_minor, 'reason', d.reason,
                                 'status', d.status, 'opened_at', d.opened_at, 'closed_at', d.closed_at)
        FROM chargebacks d WHERE d.transaction_id = t.id ORDER BY d.opened_at DESC, d.id DESC LIMIT 1) AS chargeback
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);
