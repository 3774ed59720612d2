-- Outputs of Bitcoin transactions to deposit addresses. Each is known by its outpoint, whatever block it is in.
CREATE TABLE bitcoin_outputs (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    txid text NOT NULL CHECK (txid ~ '^[0-9a-f]{64}$'),
    vout integer NOT NULL CHECK (vout >= 0),
    address text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    status text NOT NULL CHECK (status IN ('seen', 'vanished', 'confirmed', 'reversed')),
    confirmations integer NOT NULL CHECK (confirmations >= 0),
    version integer NOT NULL CHECK (version > 0),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (rail, mode, txid, vout)
);
CREATE INDEX bitcoin_outputs_watched ON bitcoin_outputs (rail, mode)
    WHERE status IN ('seen', 'reversed') OR (status = 'confirmed' AND confirmations < 100);
CREATE INDEX bitcoin_outputs_of_address ON bitcoin_outputs (rail, mode, address);

INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('bitcoin_outputs', 'seen', 'vanished'),
    ('bitcoin_outputs', 'seen', 'confirmed'),
    ('bitcoin_outputs', 'vanished', 'seen'),
    ('bitcoin_outputs', 'vanished', 'confirmed'),
    ('bitcoin_outputs', 'confirmed', 'reversed'),
    ('bitcoin_outputs', 'reversed', 'confirmed');
CREATE TRIGGER bitcoin_outputs_transition BEFORE UPDATE OF status ON bitcoin_outputs FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION state_transitions_enforce();
CREATE TRIGGER never_another BEFORE UPDATE ON bitcoin_outputs FOR EACH ROW
    WHEN (OLD.rail <> NEW.rail OR OLD.mode <> NEW.mode OR OLD.txid <> NEW.txid OR OLD.vout <> NEW.vout
          OR OLD.address <> NEW.address OR OLD.amount_minor <> NEW.amount_minor OR OLD.created_at <> NEW.created_at
          OR OLD.version + 1 <> NEW.version)
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON bitcoin_outputs FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON bitcoin_outputs FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
