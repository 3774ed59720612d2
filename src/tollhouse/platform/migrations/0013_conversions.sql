-- Conversions: prices, quotes, what was converted, and the rules by which it is done without being asked.

-- What one euro buys in live mode. Posted by operators, kept for ever; the latest one counts, until it is too old.
CREATE TABLE conversion_prices (
    id uuid PRIMARY KEY,
    currency text NOT NULL CHECK (currency ~ '^[A-Z0-9]{2,12}$'),
    per_euro numeric(38, 18) NOT NULL CHECK (per_euro > 0),
    operator text NOT NULL CHECK (operator <> ''),
    at timestamptz NOT NULL
);
CREATE INDEX conversion_prices_latest ON conversion_prices (currency, at DESC, id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON conversion_prices FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON conversion_prices FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE TABLE conversion_quotes (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    from_currency text NOT NULL,
    to_currency text NOT NULL CHECK (to_currency <> from_currency),
    rate numeric(38, 18) NOT NULL CHECK (rate > 0),  -- how much is got for one, in major units
    rate_as_of timestamptz NOT NULL,
    from_amount_minor bigint NOT NULL,
    fee_minor bigint NOT NULL CHECK (fee_minor BETWEEN 0 AND from_amount_minor - 1),  -- of what is given
    to_amount_minor bigint NOT NULL CHECK (to_amount_minor > 0),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),  -- by the test clock, where that is ahead
    used_at timestamptz
);
CREATE INDEX conversion_quotes_old ON conversion_quotes (created_at);

CREATE TABLE conversion_rules (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    from_currency text NOT NULL,
    to_currency text NOT NULL CHECK (to_currency <> from_currency),
    trigger text NOT NULL CHECK (trigger IN ('on_payment', 'on_threshold')),
    threshold_minor bigint CHECK (threshold_minor > 0),
    percent int NOT NULL CHECK (percent BETWEEN 1 AND 100),
    enabled boolean NOT NULL,
    webhook_url text,
    created_by_type text NOT NULL CHECK (created_by_type IN ('api_key', 'oauth')),
    created_by_client_id text,
    version int NOT NULL DEFAULT 1,
    seen_version bigint NOT NULL,  -- how many entries of the available balance it has looked at
    waiting_minor bigint NOT NULL DEFAULT 0 CHECK (waiting_minor >= 0),  -- what payments brought and was not converted yet
    retry_at timestamptz,  -- where it could not convert, as for want of a price
    runs int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT conversion_rules_one_from UNIQUE (merchant_id, mode, from_currency),
    CHECK ((trigger = 'on_threshold') = (threshold_minor IS NOT NULL)),
    CHECK ((created_by_type = 'oauth') = (created_by_client_id IS NOT NULL))
);

CREATE TABLE conversions (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    status text NOT NULL CHECK (status = 'completed'),
    from_currency text NOT NULL,
    to_currency text NOT NULL CHECK (to_currency <> from_currency),
    rate numeric(38, 18) NOT NULL CHECK (rate > 0),
    rate_as_of timestamptz NOT NULL,
    from_amount_minor bigint NOT NULL,
    fee_minor bigint NOT NULL CHECK (fee_minor BETWEEN 0 AND from_amount_minor - 1),
    to_amount_minor bigint NOT NULL CHECK (to_amount_minor > 0),
    quote_id uuid CONSTRAINT conversions_quote_once UNIQUE,
    rule_id uuid,  -- of a rule that may be deleted since
    rule_step int,
    webhook_url text,
    external_id text,
    metadata jsonb NOT NULL,
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    CONSTRAINT conversions_rule_once UNIQUE (rule_id, rule_step),
    CHECK ((rule_id IS NULL) = (rule_step IS NULL))
);
CREATE INDEX conversions_of_merchant ON conversions (merchant_id, mode, created_at DESC, id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON conversions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
