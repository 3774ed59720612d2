-- What a merchant has set for its payments, in each environment. No row: the defaults, which are version 1.

CREATE TABLE merchant_settings (
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    version int NOT NULL CHECK (version > 1),
    default_currency text NOT NULL CHECK (default_currency ~ '^[A-Z0-9]{2,12}$'),
    payment_methods jsonb NOT NULL CHECK (jsonb_typeof(payment_methods) = 'array'),
    link_expiry_minutes int NOT NULL CHECK (link_expiry_minutes BETWEEN 5 AND 525600),
    underpayment_tolerance_bps int NOT NULL CHECK (underpayment_tolerance_bps BETWEEN 0 AND 500),
    overpayment text NOT NULL CHECK (overpayment IN ('credit', 'refund_required')),
    late_payments text NOT NULL CHECK (late_payments IN ('refund_required', 'accept')),
    late_monitoring_days int NOT NULL CHECK (late_monitoring_days BETWEEN 1 AND 365),
    success_url text,
    cancel_url text,
    branding jsonb NOT NULL CHECK (jsonb_typeof(branding) = 'object'),
    confirmations jsonb NOT NULL CHECK (jsonb_typeof(confirmations) = 'object'),
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, mode)
);

-- In how many decimals amounts of a currency are counted here. A catalogue that says otherwise is refused.
CREATE TABLE currency_scales (
    code text PRIMARY KEY CHECK (code ~ '^[A-Z0-9]{2,12}$'),
    decimals int NOT NULL CHECK (decimals BETWEEN 0 AND 8)
);
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON currency_scales FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON currency_scales FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
