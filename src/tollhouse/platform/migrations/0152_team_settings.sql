-- What an owner sets for the team: how much the role Support may refund, and second factors of all members.

CREATE TABLE support_refund_limits (
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    PRIMARY KEY (merchant_id, currency)
);
ALTER TABLE merchants ADD COLUMN second_factors_required_at timestamptz;
COMMENT ON COLUMN merchants.second_factors_required_at IS 'null: members decide themselves';
