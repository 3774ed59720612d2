-- Rails of block chains: addresses derived ahead of time, where their worker is on the chain, what it measures, what it found.
CREATE TABLE deposit_addresses (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    derivation_index bigint NOT NULL CHECK (derivation_index >= 0 AND derivation_index < 2147483648),
    address text NOT NULL,
    attempt_id uuid,
    given_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode, derivation_index),
    CONSTRAINT deposit_addresses_given CHECK ((attempt_id IS NULL) = (given_at IS NULL))
);
CREATE UNIQUE INDEX deposit_addresses_of_address ON deposit_addresses (rail, mode, lower(address));
CREATE INDEX deposit_addresses_free ON deposit_addresses (rail, mode, derivation_index) WHERE attempt_id IS NULL;
CREATE INDEX deposit_addresses_of_attempt ON deposit_addresses (attempt_id) WHERE attempt_id IS NOT NULL;

-- An address stays what it is, and with the payment that shows it. One that no payment shows can be given again.
CREATE FUNCTION deposit_addresses_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE'
       OR (OLD.rail, OLD.mode, OLD.derivation_index, OLD.address, OLD.created_at)
          IS DISTINCT FROM (NEW.rail, NEW.mode, NEW.derivation_index, NEW.address, NEW.created_at)
       OR (OLD.attempt_id IS DISTINCT FROM NEW.attempt_id
           AND EXISTS (SELECT FROM transactions t
                       WHERE (t.rail, t.mode, t.rail_reference) = (OLD.rail, OLD.mode, OLD.address))) THEN
        RAISE EXCEPTION 'a deposit address does not change';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER never_redirected BEFORE UPDATE OR DELETE ON deposit_addresses
    FOR EACH ROW EXECUTE FUNCTION deposit_addresses_refuse_change();

CREATE TABLE rail_cursors (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    cursor jsonb,
    leased_by uuid,
    leased_until timestamptz,
    updated_at timestamptz,
    PRIMARY KEY (rail, mode)
);

CREATE TABLE rail_health (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    available boolean NOT NULL,
    reason text,
    facts jsonb NOT NULL,
    checked_at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode)
);

-- A deposit is what one transaction sends to one address in one currency. Its key does not depend on the block.
CREATE TABLE chain_deposits (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    tx_hash text NOT NULL,
    address text NOT NULL,
    currency text NOT NULL,
    sender text,
    units numeric(78) NOT NULL CHECK (units >= 0),
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    block_number bigint NOT NULL CHECK (block_number >= 0),
    block_hash text NOT NULL,
    block_at timestamptz NOT NULL,
    status text NOT NULL
        CHECK (status IN ('seen', 'vanished', 'final', 'confirmed', 'ignored', 'lost', 'reversed', 'reinstated')),
    reported_block_hash text,
    reported_confirmations integer NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode, tx_hash, address, currency)
);
CREATE INDEX chain_deposits_of_address ON chain_deposits (rail, mode, address, currency);
CREATE INDEX chain_deposits_unsettled ON chain_deposits (rail, mode)
    WHERE status IN ('seen', 'final', 'lost', 'reinstated') OR (status = 'vanished' AND reported_block_hash IS NOT NULL);
CREATE INDEX chain_deposits_of_block ON chain_deposits (rail, mode, block_number);
CREATE TRIGGER never_deleted BEFORE DELETE ON chain_deposits FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
