-- Fulfillments: in-game currency that a merchant pays for and a game server hands to a player.

CREATE TABLE fulfillments (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    project_id uuid,
    product_id text NOT NULL,
    server text NOT NULL CHECK ((mode = 'test') = (server = 'sandbox')),  -- who delivers
    quantity int NOT NULL CHECK (quantity > 0),
    delivered_quantity int NOT NULL DEFAULT 0 CHECK (delivered_quantity BETWEEN 0 AND quantity),
    currency text NOT NULL,
    unit_price_minor bigint NOT NULL CHECK (unit_price_minor > 0),
    unit_wholesale_minor bigint NOT NULL CHECK (unit_wholesale_minor BETWEEN 0 AND unit_price_minor),  -- of it, the server's
    cost_minor bigint NOT NULL CHECK (cost_minor = unit_price_minor * quantity AND cost_minor <= 9007199254740991),
    recipient jsonb NOT NULL CHECK (jsonb_typeof(recipient) = 'object'),
    hold_id uuid NOT NULL UNIQUE REFERENCES ledger_holds,
    status text NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'partially_completed', 'failed', 'canceled')),
    provider_reference text,
    failure_code text,
    attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_look_at timestamptz,  -- when the worker asks the server next; null when it has ended
    webhook_url text,
    external_id text,
    metadata jsonb NOT NULL,
    version int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    processing_at timestamptz,
    completed_at timestamptz,
    FOREIGN KEY (merchant_id, mode, project_id) REFERENCES projects (merchant_id, mode, id),
    UNIQUE (merchant_id, mode, id),
    CONSTRAINT fulfillments_external_id UNIQUE (merchant_id, mode, external_id),
    CHECK ((status IN ('pending', 'processing')) = (next_look_at IS NOT NULL)),
    CHECK ((status IN ('pending', 'canceled')) = (processing_at IS NULL)),
    CHECK ((attempts = 0) = (processing_at IS NULL)),
    CHECK ((status IN ('completed', 'partially_completed')) = (delivered_quantity > 0)),
    CHECK ((status IN ('completed', 'partially_completed')) = (completed_at IS NOT NULL)),
    CHECK ((status IN ('completed', 'partially_completed')) = (provider_reference IS NOT NULL)),
    CHECK ((status = 'completed') = (delivered_quantity = quantity)),
    CHECK ((status = 'failed') = (failure_code IS NOT NULL))
) WITH (fillfactor = 85);
CREATE INDEX fulfillments_of_merchant ON fulfillments (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX fulfillments_due ON fulfillments (next_look_at) WHERE next_look_at IS NOT NULL;

-- Which state follows which; nothing else is ever written.
CREATE FUNCTION fulfillments_refuse_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (CASE OLD.status
        WHEN 'pending' THEN NEW.status IN ('processing', 'canceled')
        WHEN 'processing' THEN NEW.status IN ('completed', 'partially_completed', 'failed')
        ELSE false
    END) THEN
        RAISE EXCEPTION 'a fulfillment that is % does not become %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fulfillments_step BEFORE UPDATE OF status ON fulfillments FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION fulfillments_refuse_step();
CREATE TRIGGER never_deleted BEFORE DELETE ON fulfillments FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON fulfillments FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
