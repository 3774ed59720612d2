-- Emails with receipts: at most three for each payment. The first one is sent without being asked for if the link has the address of
-- the customer. No address is stored here: it is that of the link, or in the outbox until the email is deleted.
CREATE TABLE receipt_mails (
    transaction_id uuid NOT NULL,
    ordinal smallint NOT NULL CHECK (ordinal BETWEEN 1 AND 3),
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    requested_by text NOT NULL CHECK (requested_by IN ('payment', 'payer', 'merchant')),
    requested_at timestamptz NOT NULL,
    handled_at timestamptz,  -- null: the worker has not handed it to the outbox yet
    withheld boolean NOT NULL DEFAULT false,  -- in test mode, to an address that is not of the merchant's users
    PRIMARY KEY (transaction_id, ordinal),
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id),
    CHECK (requested_by = 'payment' OR handled_at IS NOT NULL)
);
CREATE UNIQUE INDEX receipt_mails_by_payment ON receipt_mails (transaction_id) WHERE requested_by = 'payment';
CREATE INDEX receipt_mails_waiting ON receipt_mails (requested_at) WHERE handled_at IS NULL;

-- The language of the customer who began the payment. Existing rows are not read again: that would lock a large table.
ALTER TABLE transactions ADD COLUMN payer_language text;
ALTER TABLE transactions ADD CONSTRAINT transactions_payer_language CHECK (payer_language ~ '^[a-z]{2}$') NOT VALID;

ALTER TABLE mails DROP CONSTRAINT mails_about_check, ADD CONSTRAINT mails_about_check CHECK (
    about IN ('verify', 'reset', 'password_changed', 'new_device', 'factor_on', 'factor_off', 'receipt'));
