-- Payouts on chains: the nonce of each is reserved before it is signed, and its signed bytes are stored before they are sent.

CREATE TABLE chain_wallets (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    address text NOT NULL CHECK (address ~ '^0x[0-9a-fA-F]{40}$'),
    next_nonce bigint NOT NULL CHECK (next_nonce >= 0),
    PRIMARY KEY (rail, mode, address)
);

CREATE TABLE chain_payouts (
    id uuid PRIMARY KEY REFERENCES outgoing_transfers,
    kind text NOT NULL CHECK (kind IN ('withdrawal', 'refund')),
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    chain_id bigint NOT NULL CHECK (chain_id > 0),
    currency text NOT NULL,
    contract text CHECK (contract ~ '^0x[0-9a-f]{40}$'),  -- of a token, in lower case
    receiver text NOT NULL CHECK (receiver ~ '^0x[0-9a-f]{40}$'),
    amount_units numeric(78) NOT NULL CHECK (amount_units > 0),
    status text NOT NULL CHECK (status IN ('waiting', 'reserved', 'signed', 'mined', 'completed', 'failed')),
    reason text,  -- why it waits, or why it failed
    wallet text,
    nonce bigint CHECK (nonce >= 0),
    gas bigint CHECK (gas > 0),
    fee_per_gas bigint CHECK (fee_per_gas > 0),
    tip_per_gas bigint CHECK (tip_per_gas BETWEEN 0 AND fee_per_gas),
    tx_hash text,  -- of the transaction that is in a block
    block_number bigint,
    block_hash text,
    fee_wei numeric(78),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    check_at timestamptz,  -- NULL: nothing is left to do
    UNIQUE (rail, mode, wallet, nonce),
    CONSTRAINT chain_payouts_reserved CHECK (
        (wallet IS NULL) = (nonce IS NULL) AND (gas IS NULL) = (nonce IS NULL) AND (fee_per_gas IS NULL) = (nonce IS NULL)
        AND (tip_per_gas IS NULL) = (nonce IS NULL)
        AND (nonce IS NOT NULL OR status IN ('waiting', 'failed')) AND (nonce IS NULL OR status <> 'waiting')),
    CONSTRAINT chain_payouts_mined CHECK (
        (tx_hash IS NULL) = (block_number IS NULL) AND (tx_hash IS NULL) = (block_hash IS NULL) AND (tx_hash IS NULL) = (fee_wei IS NULL)
        AND (tx_hash IS NOT NULL) = (status IN ('mined', 'completed') OR (status = 'failed' AND nonce IS NOT NULL)))
);
-- One at a time is between its nonce and its signature, so that the nonce of one that is not signed can be given to the next.
CREATE UNIQUE INDEX chain_payouts_unsigned ON chain_payouts (rail, mode) WHERE status = 'reserved';
CREATE INDEX chain_payouts_due ON chain_payouts (check_at) WHERE check_at IS NOT NULL;

CREATE TABLE chain_transactions (
    payout_id uuid NOT NULL REFERENCES chain_payouts,
    number integer NOT NULL CHECK (number > 0),
    tx_hash text NOT NULL UNIQUE CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'),
    raw text NOT NULL CHECK (raw ~ '^0x([0-9a-f]{2})+$'),
    gas bigint NOT NULL CHECK (gas > 0),
    fee_per_gas bigint NOT NULL CHECK (fee_per_gas > 0),
    tip_per_gas bigint NOT NULL CHECK (tip_per_gas BETWEEN 0 AND fee_per_gas),
    signed_at timestamptz NOT NULL,
    sent_at timestamptz,  -- when a node took it last
    PRIMARY KEY (payout_id, number)
);

-- A payout is of a released transfer and stays what it is. Once it is signed, it keeps its wallet and nonce.
CREATE FUNCTION chain_payouts_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.kind, OLD.rail, OLD.mode, OLD.chain_id, OLD.currency, OLD.contract, OLD.receiver, OLD.amount_units, OLD.created_at)
           IS DISTINCT FROM
           (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.chain_id, NEW.currency, NEW.contract, NEW.receiver, NEW.amount_units, NEW.created_at)
           OR ((OLD.wallet, OLD.nonce) IS DISTINCT FROM (NEW.wallet, NEW.nonce) AND OLD.nonce IS NOT NULL
               AND (OLD.status <> 'reserved' OR NEW.nonce IS NOT NULL
                    OR EXISTS (SELECT FROM chain_transactions c WHERE c.payout_id = OLD.id)))
        THEN
            RAISE EXCEPTION 'a payout on a chain stays what it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF OLD.status <> NEW.status THEN
            PERFORM state_transitions_require('chain_payouts', OLD.status, NEW.status);
        END IF;
        IF NEW.status = 'signed' AND NOT EXISTS (SELECT FROM chain_transactions c WHERE c.payout_id = NEW.id) THEN
            RAISE EXCEPTION 'the signed bytes are stored first' USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    IF NEW.status IN ('waiting', 'reserved') AND NOT EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE (o.id, o.kind, o.rail, o.mode, o.currency, lower(o.receiver))
              = (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.receiver)
          AND o.released_at IS NOT NULL AND o.closed_at IS NULL)
    THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reserved' AND (TG_OP = 'INSERT' OR OLD.status <> 'reserved') AND NEW.mode = 'live' THEN
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        PERFORM FROM outgoing_transfers o JOIN merchants m ON m.id = o.merchant_id
        WHERE o.id = NEW.id AND m.suspended_at IS NULL FOR SHARE OF m;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER chain_payouts_enforced BEFORE INSERT OR UPDATE ON chain_payouts
    FOR EACH ROW EXECUTE FUNCTION chain_payouts_enforce();
CREATE TRIGGER never_deleted BEFORE DELETE ON chain_payouts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON chain_transactions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_changed BEFORE UPDATE OF payout_id, number, tx_hash, raw, gas, fee_per_gas, tip_per_gas, signed_at
    ON chain_transactions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('chain_payouts', 'waiting', 'reserved'), ('chain_payouts', 'waiting', 'failed'), ('chain_payouts', 'reserved', 'waiting'),
    ('chain_payouts', 'reserved', 'signed'), ('chain_payouts', 'signed', 'mined'), ('chain_payouts', 'mined', 'signed'),
    ('chain_payouts', 'signed', 'completed'), ('chain_payouts', 'signed', 'failed'),
    ('chain_payouts', 'mined', 'completed'), ('chain_payouts', 'mined', 'failed');
