-- Batches of withdrawals: all of their withdrawals were created in one transaction.
CREATE TABLE withdrawal_batches (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    description text,
    item_count integer NOT NULL CHECK (item_count BETWEEN 1 AND 500),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (id, merchant_id)
);
CREATE INDEX withdrawal_batches_of_merchant ON withdrawal_batches (merchant_id, mode, created_at DESC, id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON withdrawal_batches
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

ALTER TABLE withdrawals
    ADD COLUMN batch_id uuid,
    ADD COLUMN batch_row integer,
    ADD CONSTRAINT withdrawals_batch_row CHECK ((batch_id IS NULL) = (batch_row IS NULL)),
    ADD CONSTRAINT withdrawals_batch FOREIGN KEY (batch_id, merchant_id) REFERENCES withdrawal_batches (id, merchant_id);
CREATE UNIQUE INDEX withdrawals_once_in_batch ON withdrawals (batch_id, batch_row, merchant_id) WHERE batch_id IS NOT NULL;
CREATE TRIGGER keeps_batch BEFORE UPDATE OF batch_id, batch_row ON withdrawals FOR EACH ROW
    WHEN ((OLD.batch_id, OLD.batch_row) IS DISTINCT FROM (NEW.batch_id, NEW.batch_row))
    EXECUTE FUNCTION ledger_refuse_change();
