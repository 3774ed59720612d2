-- Sweeps take deposits from their addresses to the one address that the signer allows; `gas` is coin for the fee of a sweep.
-- Both move money within a rail, so no outgoing transfer stands behind them.
ALTER TABLE chain_payouts
    DROP CONSTRAINT chain_payouts_id_fkey,
    DROP CONSTRAINT chain_payouts_kind_check,
    ADD CONSTRAINT chain_payouts_kind_check CHECK (kind IN ('withdrawal', 'refund', 'sweep', 'gas')),
    ADD COLUMN deposit_index bigint,  -- of the deposit address that is emptied, or gets coin
    ADD CONSTRAINT chain_payouts_deposit CHECK ((deposit_index IS NOT NULL) = (kind IN ('sweep', 'gas'))),
    ADD COLUMN transfer_id uuid
        GENERATED ALWAYS AS (CASE WHEN kind IN ('withdrawal', 'refund') THEN id END) STORED REFERENCES outgoing_transfers;
-- Each wallet counts its own nonces.
DROP INDEX chain_payouts_unsigned;
CREATE UNIQUE INDEX chain_payouts_unsigned ON chain_payouts (rail, mode, wallet) WHERE status = 'reserved';
-- One at a time for each address.
CREATE UNIQUE INDEX chain_payouts_sweeping ON chain_payouts (rail, mode, deposit_index)
    WHERE deposit_index IS NOT NULL AND status IN ('waiting', 'reserved', 'signed', 'mined');
CREATE INDEX chain_wallets_of_address ON chain_wallets (rail, mode, lower(address));

ALTER TABLE chain_deposits ADD COLUMN sweep_id uuid REFERENCES chain_payouts;  -- that took it; NULL: it is at its address
CREATE INDEX chain_deposits_at_address ON chain_deposits (rail, mode, currency, address)
    WHERE sweep_id IS NULL AND status IN ('final', 'confirmed', 'ignored', 'reinstated');
CREATE INDEX chain_deposits_of_sweep ON chain_deposits (sweep_id) WHERE sweep_id IS NOT NULL;

-- As before; a sweep empties a deposit address, and coin for its fee is sent to one.
CREATE OR REPLACE FUNCTION chain_payouts_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.kind, OLD.rail, OLD.mode, OLD.chain_id, OLD.currency, OLD.contract, OLD.receiver, OLD.amount_units, OLD.created_at,
            OLD.deposit_index)
           IS DISTINCT FROM
           (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.chain_id, NEW.currency, NEW.contract, NEW.receiver, NEW.amount_units, NEW.created_at,
            NEW.deposit_index)
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
    IF NEW.status IN ('waiting', 'reserved') AND NEW.kind IN ('withdrawal', 'refund') AND NOT EXISTS (
        SELECT FROM outgoing_transfers o
        WHERE (o.id, o.kind, o.rail, o.mode, o.currency, lower(o.receiver))
              = (NEW.id, NEW.kind, NEW.rail, NEW.mode, NEW.currency, NEW.receiver)
          AND o.released_at IS NOT NULL AND o.closed_at IS NULL)
    THEN
        RAISE EXCEPTION 'a payout is of a released transfer' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.kind IN ('sweep', 'gas') AND NEW.status IN ('waiting', 'reserved') AND NOT EXISTS (
        SELECT FROM deposit_addresses d
        WHERE (d.rail, d.mode, d.derivation_index) = (NEW.rail, NEW.mode, NEW.deposit_index)
          AND lower(d.address) = CASE NEW.kind WHEN 'gas' THEN NEW.receiver ELSE lower(coalesce(NEW.wallet, d.address)) END)
    THEN
        RAISE EXCEPTION 'a sweep is of a deposit address' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reserved' AND (TG_OP = 'INSERT' OR OLD.status <> 'reserved') AND NEW.mode = 'live' THEN
        IF payouts_are_paused() THEN
            RAISE EXCEPTION 'nothing leaves while payouts are paused'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'payouts_are_paused';
        END IF;
        IF NEW.kind IN ('withdrawal', 'refund') THEN
            PERFORM FROM outgoing_transfers o JOIN merchants m ON m.id = o.merchant_id
            WHERE o.id = NEW.id AND m.suspended_at IS NULL FOR SHARE OF m;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                    USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
            END IF;
        END IF;
    END IF;
    RETURN NEW;
END $$;
