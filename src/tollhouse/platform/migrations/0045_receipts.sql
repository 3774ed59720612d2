-- Receipts of payments: their numbers, without gaps for each merchant, environment and year.
CREATE TABLE receipt_counters (
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    year int NOT NULL CHECK (year BETWEEN 1970 AND 2999),
    last_number int NOT NULL CHECK (last_number > 0),
    PRIMARY KEY (merchant_id, mode, year)
);

-- `seller` is what the receipt says about the merchant: it stays when the merchant changes its details.
CREATE TABLE receipts (
    transaction_id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    year int NOT NULL,
    number int NOT NULL CHECK (number > 0),
    seller jsonb NOT NULL,
    issued_at timestamptz NOT NULL,
    UNIQUE (merchant_id, mode, year, number),
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id),
    FOREIGN KEY (merchant_id, mode, year) REFERENCES receipt_counters
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON receipts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON receipts FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
