-- Answers kept for repeated requests. The claim, the deed and the answer are one transaction.

CREATE TABLE idempotency_keys (
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    caller text NOT NULL,  -- an application's client_id, or 'merchant' for all API keys together
    key_hash bytea NOT NULL CHECK (octet_length(key_hash) = 32),
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    status int,
    answer bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, mode, caller, key_hash)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
