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

CREATE TABLE transactions (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    payment_link_id uuid NOT NULL,
    method_id text NOT NULL,
    method_type text NOT NULL,
    rail text NOT NULL,
    rail_reference text NOT NULL,  -- by which the rail's observations find this row
    instructions jsonb NOT NULL,  -- what the customer was told: reference, address, words
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    received_minor bigint NOT NULL DEFAULT 0 CHECK (received_minor >= 0),
    fee_minor bigint NOT NULL DEFAULT 0 CHECK (fee_minor >= 0),
    refunded_minor bigint NOT NULL DEFAULT 0 CHECK (refunded_minor >= 0),
    status text NOT NULL CHECK (status IN ('pending', 'processing', 'succeeded', 'failed', 'expired', 'refund_required',
                                           'partially_refunded', 'refunded', 'chargeback')),
    failure_code text,
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    succeeded_at timestamptz,
    FOREIGN KEY (merchant_id, mode, payment_link_id) REFERENCES payment_links (merchant_id, mode, id),
    UNIQUE (rail, mode, rail_reference),
    CHECK (fee_minor <= received_minor),
    CHECK (refunded_minor <= received_minor),
    CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CHECK (status <> 'succeeded' OR (succeeded_at IS NOT NULL AND received_minor > 0))
) WITH (fillfactor = 85);
CREATE INDEX transactions_of_merchant ON transactions (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX transactions_of_link ON transactions (payment_link_id, created_at DESC);
CREATE UNIQUE INDEX transactions_one_open ON transactions (payment_link_id) WHERE status IN ('pending', 'processing');

-- The timeline of a transaction: a row for each of its versions.
CREATE TABLE transaction_steps (
    transaction_id uuid NOT NULL REFERENCES transactions,
    version int NOT NULL,
    status text NOT NULL,
    detail text,
    at timestamptz NOT NULL,
    PRIMARY KEY (transaction_id, version)
);
