-- Which application asked for what is posted; nothing for whatever else asked. Beside the transaction, whose row never changes.
CREATE TABLE ledger_transaction_applications (
    transaction_id uuid PRIMARY KEY,
    mode text NOT NULL,
    oauth_client_id text NOT NULL REFERENCES oauth_clients,
    FOREIGN KEY (transaction_id, mode) REFERENCES ledger_transactions (id, mode)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_transaction_applications
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_transaction_applications
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
