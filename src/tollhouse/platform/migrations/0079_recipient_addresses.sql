-- The bank and the address of who receives a payout, and of who has sent or received a transfer of a statement.
ALTER TABLE bank_payouts ADD COLUMN receiver_bic text, ADD COLUMN receiver_address jsonb;
ALTER TABLE bank_entry_parts ADD COLUMN other_bic text, ADD COLUMN other_address jsonb;

DROP TRIGGER never_redirected ON bank_payouts;
CREATE TRIGGER never_redirected
    BEFORE UPDATE OF id, kind, merchant_id, mode, currency, amount_minor, receiver_iban, receiver_name, words, receiver_bic,
                     receiver_address
    ON bank_payouts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

-- Rows without them have the digests that they had.
CREATE OR REPLACE FUNCTION row_digest(bank_payouts) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.kind, $1.merchant_id, $1.mode, $1.currency, $1.amount_minor, $1.receiver_iban,
                                  $1.receiver_name, $1.words, $1.prepared_at))
        || CASE WHEN $1.receiver_bic IS NULL AND $1.receiver_address IS NULL THEN ''
                ELSE record_send(ROW($1.receiver_bic, $1.receiver_address)) END)
$$;
CREATE OR REPLACE FUNCTION row_digest(bank_entry_parts) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.entry_id, $1.nth, $1.amount_minor, $1.end_to_end_id, $1.other_name,
                                  $1.other_iban, $1.words, $1.return_reason))
        || CASE WHEN $1.sent_at IS NULL THEN '' ELSE record_send(ROW($1.sent_at)) END
        || CASE WHEN $1.other_bic IS NULL AND $1.other_address IS NULL THEN ''
                ELSE record_send(ROW($1.other_bic, $1.other_address)) END)
$$;
