-- What payouts on chains wait for, and whether a rail can pay out, as its worker measured it.
ALTER TABLE chain_payouts
    ADD COLUMN waits_for text CHECK (waits_for IN ('float', 'gas_price', 'turn', 'operator')),
    ADD CONSTRAINT chain_payouts_waits CHECK (waits_for IS NULL OR status = 'waiting');
CREATE INDEX chain_payouts_waiting ON chain_payouts (rail, mode) WHERE status = 'waiting';

CREATE TABLE chain_payout_health (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    reason text,  -- why nothing can be paid out; NULL if it can
    currencies_down text[] NOT NULL,  -- which the wallet has too little of
    facts jsonb NOT NULL,
    checked_at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode)
);
