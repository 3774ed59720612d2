-- What banks send besides statements: notifications of entries (camt.054) and status reports of payment files (pain.002).
ALTER TABLE bank_imports
    ADD COLUMN kind text CHECK (kind IN ('statement', 'notification', 'report'));  -- NULL until the file was read
INSERT INTO state_transitions (record, from_status, to_status) VALUES ('bank_imports', 'uploaded', 'imported');

-- Transfers that the bank has announced. They move no money: that is what the entry of a statement with this identity does.
CREATE TABLE bank_announcements (
    identity bytea NOT NULL,
    nth int NOT NULL,  -- among the transfers of the entry
    iban text NOT NULL,
    side text NOT NULL CHECK (side IN ('credit', 'debit')),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    booked_on date NOT NULL,
    other_name text,
    other_iban text,
    words text NOT NULL,
    announced_at timestamptz NOT NULL,
    PRIMARY KEY (identity, nth)
);
CREATE INDEX bank_announcements_newest ON bank_announcements (announced_at);

-- What the bank has reported about a payment file. Rejections have ended payouts in the same transaction.
CREATE TABLE bank_reports (
    id uuid PRIMARY KEY,
    batch_id uuid NOT NULL REFERENCES bank_batches,
    message_id text NOT NULL,  -- the bank's
    status text,  -- of the file as a whole, such as ACSP; NULL: the bank states none
    rejected int NOT NULL,  -- payouts that it has ended
    unchanged int NOT NULL,  -- rejections that have ended nothing
    reason text,  -- of the first rejection
    imported_by text NOT NULL,
    imported_at timestamptz NOT NULL
);
CREATE INDEX bank_reports_of_batch ON bank_reports (batch_id, id);
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON bank_reports FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
