-- Balance payments: from the balance of a connected merchant to that of the application's owner, and back.

-- What becomes of one is a matter of the merchant, the application and the environment. No grant is named: a reservation
-- outlives whatever connection it was made by.
CREATE TABLE balance_payments (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,  -- who pays
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    client_id text NOT NULL REFERENCES oauth_clients,
    owner_id uuid NOT NULL REFERENCES merchants,  -- who is paid: the application's owner
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
    captured_minor bigint NOT NULL DEFAULT 0 CHECK (captured_minor >= 0),
    released_minor bigint NOT NULL DEFAULT 0 CHECK (released_minor >= 0),
    refunded_minor bigint NOT NULL DEFAULT 0 CHECK (refunded_minor >= 0),
    refunds int NOT NULL DEFAULT 0 CHECK (refunds >= 0),  -- so far: each is a step of its own in the ledger
    hold_id uuid UNIQUE REFERENCES ledger_holds,  -- null: captured at once
    status text NOT NULL CHECK (status IN ('reserved', 'captured', 'released', 'expired', 'partially_refunded', 'refunded')),
    description text,
    external_id text,
    metadata jsonb NOT NULL,
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz,  -- of the reservation, by the test clock where that is ahead
    resolved_at timestamptz,  -- when it was captured, released or expired
    UNIQUE (merchant_id, mode, id),
    CONSTRAINT balance_payments_external_id UNIQUE (merchant_id, mode, external_id),
    CONSTRAINT balance_payments_two_merchants CHECK (owner_id <> merchant_id),
    CHECK ((hold_id IS NULL) = (expires_at IS NULL)),
    CHECK (expires_at > created_at),
    CHECK (hold_id IS NOT NULL OR captured_minor = amount_minor),
    CHECK ((status = 'reserved') = (resolved_at IS NULL)),
    CHECK (captured_minor + released_minor = CASE status WHEN 'reserved' THEN 0 ELSE amount_minor END),
    CHECK ((status IN ('captured', 'partially_refunded', 'refunded')) = (captured_minor > 0)),
    CONSTRAINT balance_payments_refunded_once CHECK (refunded_minor <= captured_minor),
    CHECK ((status = 'partially_refunded') = (refunded_minor > 0 AND refunded_minor < captured_minor)),
    CHECK ((status = 'refunded') = (refunded_minor > 0 AND refunded_minor = captured_minor)),
    CHECK ((refunds = 0) = (refunded_minor = 0))
) WITH (fillfactor = 85);
CREATE INDEX balance_payments_of_merchant ON balance_payments (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX balance_payments_of_client ON balance_payments (client_id, created_at DESC, id DESC);
CREATE INDEX balance_payments_due ON balance_payments (expires_at) WHERE status = 'reserved';
CREATE INDEX balance_payments_due_of_merchant ON balance_payments (merchant_id, expires_at)
    WHERE status = 'reserved' AND mode = 'test';

-- Which state follows which; nothing else is ever written.
CREATE FUNCTION balance_payments_refuse_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.status
        WHEN 'reserved' THEN NEW.status IN ('captured', 'released', 'expired')
        WHEN 'captured' THEN NEW.status IN ('partially_refunded', 'refunded')
        WHEN 'partially_refunded' THEN NEW.status = 'refunded'
        ELSE false
    END) THEN
        RAISE EXCEPTION 'a balance payment that is % does not become %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER balance_payments_step BEFORE UPDATE OF status ON balance_payments FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION balance_payments_refuse_step();
CREATE TRIGGER never_deleted BEFORE DELETE ON balance_payments FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON balance_payments FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
