-- The channel to the bank: payment files that are sent by a program or a folder, and what it fetched last.
CREATE TABLE bank_sendings (
    batch_id uuid PRIMARY KEY REFERENCES bank_batches,
    tries int NOT NULL DEFAULT 0 CHECK (tries >= 0),
    leased_until timestamptz,  -- a worker is sending it
    next_try_at timestamptz,  -- null: it was sent, or nothing of it is left to send
    error text CHECK (error <> ''),
    sent_at timestamptz,
    CHECK (next_try_at IS NULL OR sent_at IS NULL),
    CHECK (leased_until IS NULL OR next_try_at IS NOT NULL)
);
CREATE INDEX bank_sendings_due ON bank_sendings (next_try_at) WHERE next_try_at IS NOT NULL;

-- One row: which worker fetches, and how it went.
CREATE TABLE bank_fetches (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    leased_until timestamptz,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    fetched_at timestamptz,
    error text CHECK (error <> ''),
    failed_since timestamptz,
    CHECK ((error IS NULL) = (failed_since IS NULL))
);
INSERT INTO bank_fetches DEFAULT VALUES;
