-- Payments on pages of a card provider, until the page has ended. A null `next_poll_at`: nothing more is expected of it.
CREATE TABLE card_payments (
    merchant_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    transaction_id uuid NOT NULL,
    rail text NOT NULL,
    reference text NOT NULL,
    created_at timestamptz NOT NULL,
    next_poll_at timestamptz,
    PRIMARY KEY (merchant_id, mode, transaction_id),
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id)
);
CREATE INDEX card_payments_due ON card_payments (next_poll_at) WHERE next_poll_at IS NOT NULL;

-- Signed events of providers, each once: what it is about, and not what it says. A null `next_try_at`: it is processed.
CREATE TABLE provider_events (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    event_id text NOT NULL CHECK (length(event_id) <= 255),
    type text NOT NULL CHECK (length(type) <= 100),
    object_id text NOT NULL CHECK (length(object_id) <= 255),
    occurred_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    next_try_at timestamptz,
    PRIMARY KEY (rail, mode, event_id)
);
CREATE INDEX provider_events_due ON provider_events (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX provider_events_old ON provider_events (received_at);
