-- Until when the merchant can respond to a chargeback, and the evidence that it notes. Null for chargebacks before this column.
ALTER TABLE chargebacks ADD COLUMN respond_by timestamptz;

CREATE TABLE chargeback_notes (
    id uuid PRIMARY KEY,
    chargeback_id uuid NOT NULL REFERENCES chargebacks,
    author text NOT NULL,
    note text NOT NULL CHECK (char_length(note) BETWEEN 1 AND 2000),
    created_at timestamptz NOT NULL
);
CREATE INDEX chargeback_notes_of_chargeback ON chargeback_notes (chargeback_id, created_at);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON chargeback_notes FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON chargeback_notes FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE INDEX chargebacks_open ON chargebacks (merchant_id, opened_at DESC) WHERE status = 'open';
