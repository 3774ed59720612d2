-- What was written is written down a second time, as a digest, by the transaction that writes it: so a row that is changed or
-- deleted behind the back of the program is found by `tollhouse check`. Only what never changes is digested.

CREATE INDEX ledger_entries_of_transaction ON ledger_entries (transaction_id);

CREATE TABLE row_digests (
    kind text NOT NULL,
    id uuid NOT NULL,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    xact xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- who wrote it: by this a check knows what it has not seen yet
    PRIMARY KEY (kind, id)
);
CREATE INDEX row_digests_by_transaction ON row_digests (xact);

-- The binary forms of the columns: they depend on no setting of a session.
CREATE FUNCTION row_digest(ledger_transactions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.mode, $1.kind, $1.source_type, $1.source_id, $1.step, $1.created_at))
        || coalesce((SELECT string_agg(record_send(ROW(p.line, p.type, p.mode, p.currency, p.debit_account_id,
                                                       p.credit_account_id, p.amount)), '' ORDER BY p.line)
                     FROM ledger_postings p WHERE p.transaction_id = $1.id), '')
        || coalesce((SELECT string_agg(record_send(ROW(e.account_id, e.version, e.id, e.merchant_id, e.mode, e.currency,
                                                       e.account, e.type, e.line, e.delta, e.balance_after, e.created_at)),
                                       '' ORDER BY e.account_id, e.version)
                     FROM ledger_entries e WHERE e.transaction_id = $1.id), ''))
$$;
CREATE FUNCTION row_digest(ledger_holds) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.currency, $1.source_type, $1.source_id, $1.amount,
                                  $1.created_at)))
$$;
CREATE FUNCTION row_digest(payment_links) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.token, $1.project_id, $1.amount_minor, $1.currency,
                                  $1.created_by_type, $1.created_by_client_id, $1.created_at)))
$$;
CREATE FUNCTION row_digest(transactions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                  $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at)))
$$;
CREATE FUNCTION row_digest(refunds) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.transaction_id, $1.rail, $1.currency, $1.amount_minor,
                                  $1.unapplied_minor, $1.hold_id, $1.reason, $1.receiver, $1.created_at)))
$$;
CREATE FUNCTION row_digest(chargebacks) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.transaction_id, $1.currency, $1.amount_minor,
                                  $1.fee_minor, $1.reason, $1.opened_at)))
$$;
CREATE FUNCTION row_digest(withdrawals) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.method_id, $1.rail, $1.currency, $1.amount_minor,
                                  $1.network_fee_mode, $1.system_fee_minor, $1.network_fee_minor, $1.debit_minor,
                                  $1.receive_minor, $1.receiver, $1.provider_fields, $1.hold_id, $1.limit_day,
                                  $1.approvals_needed, $1.created_at)))
$$;
CREATE FUNCTION row_digest(balance_payments) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.client_id, $1.owner_id, $1.currency, $1.amount_minor,
                                  $1.hold_id, $1.created_at)))
$$;
CREATE FUNCTION row_digest(conversions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.from_currency, $1.to_currency, $1.rate,
                                  $1.from_amount_minor, $1.fee_minor, $1.to_amount_minor, $1.quote_id, $1.rule_id,
                                  $1.rule_step, $1.created_at)))
$$;
CREATE FUNCTION row_digest(fulfillments) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.product_id, $1.server, $1.quantity, $1.currency,
                                  $1.unit_price_minor, $1.unit_wholesale_minor, $1.cost_minor, $1.recipient, $1.hold_id,
                                  $1.created_at)))
$$;
CREATE FUNCTION row_digest(bank_statements) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.iban, $1.statement_id, $1.currency, $1.opening_minor, $1.closing_minor,
                                  $1.first_on, $1.last_on, $1.entries, $1.digest, $1.imported_by, $1.imported_at)))
$$;
CREATE FUNCTION row_digest(bank_entries) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.identity, $1.first_statement_id, $1.side, $1.currency, $1.amount_minor,
                                  $1.booked_on, $1.is_reversal, $1.batch_reference, $1.bank_reference)))
$$;
CREATE FUNCTION row_digest(bank_entry_parts) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.entry_id, $1.nth, $1.amount_minor, $1.end_to_end_id, $1.other_name,
                                  $1.other_iban, $1.words, $1.return_reason)))
$$;
CREATE FUNCTION row_digest(bank_batches) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.iban, $1.bic, $1.holder, $1.exported_by, $1.exported_at)))
$$;
CREATE FUNCTION row_digest(bank_payouts) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.kind, $1.merchant_id, $1.mode, $1.currency, $1.amount_minor, $1.receiver_iban,
                                  $1.receiver_name, $1.words, $1.prepared_at)))
$$;
CREATE FUNCTION row_digest(operator_actions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.operator, $1.action, $1.merchant_id, $1.mode, $1.subject_id, $1.reason,
                                  $1.currency, $1.amount_minor, $1.at)))
$$;
CREATE FUNCTION row_digest(webhook_events) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.type, $1.source_type, $1.source_id, $1.sequence,
                                  $1.body, $1.created_at)))
$$;

-- The digest of a new row. A ledger transaction is digested when its transaction commits: only then all its lines are there.
CREATE FUNCTION row_digests_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_digests (kind, id, digest) VALUES (TG_ARGV[0], NEW.id, row_digest(NEW));
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER digested AFTER INSERT ON ledger_transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION row_digests_write('ledger');
CREATE TRIGGER digested AFTER INSERT ON webhook_events FOR EACH ROW EXECUTE FUNCTION row_digests_write('event');

-- What is there is digested as it is found.
DO $$
DECLARE
    v_table text;
    v_kind text;
BEGIN
    FOR v_table, v_kind IN VALUES ('ledger_transactions', 'ledger'), ('ledger_holds', 'hold'), ('payment_links', 'link'),
            ('transactions', 'payment'), ('refunds', 'refund'), ('chargebacks', 'chargeback'),
            ('withdrawals', 'withdrawal'), ('balance_payments', 'balance_payment'), ('conversions', 'conversion'),
            ('fulfillments', 'fulfillment'), ('bank_statements', 'bank_statement'), ('bank_entries', 'bank_entry'),
            ('bank_entry_parts', 'bank_transfer'), ('bank_batches', 'bank_batch'), ('bank_payouts', 'payout'),
            ('operator_actions', 'operator_action'), ('webhook_events', 'event')
    LOOP
        EXECUTE format('INSERT INTO row_digests (kind, id, digest) SELECT %L, t.id, row_digest(t) FROM %I t', v_kind, v_table);
        IF v_kind NOT IN ('ledger', 'event') THEN
            EXECUTE format('CREATE TRIGGER digested AFTER INSERT ON %I FOR EACH ROW EXECUTE FUNCTION row_digests_write(%L)',
                           v_table, v_kind);
        END IF;
    END LOOP;
END $$;

-- Digests of events leave with the months of the events; all others stay.
CREATE TRIGGER never_changed BEFORE UPDATE ON row_digests FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON row_digests FOR EACH ROW WHEN (OLD.kind <> 'event')
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON row_digests FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- How far the last check without a finding came: all that its snapshot saw is verified, and what is older is verified again
-- bit by bit, in this order. Of another cluster (after a restore) or of a later time it means nothing.
CREATE TABLE check_state (
    the_only boolean PRIMARY KEY DEFAULT true CHECK (the_only),
    cluster bigint NOT NULL,
    verified pg_snapshot NOT NULL,
    verified_at timestamptz NOT NULL,
    again_kind text,
    again_id uuid,
    full_at timestamptz NOT NULL,
    CHECK ((again_kind IS NULL) = (again_id IS NULL))
);

-- A look that did not come to its end is kept beside the last one that did.
ALTER TABLE invariant_watch
    ALTER COLUMN looked_at DROP NOT NULL,
    ADD COLUMN failed_at timestamptz,
    ADD COLUMN failure text,
    ADD CHECK ((failed_at IS NULL) = (failure IS NULL)),
    ADD CHECK (looked_at IS NOT NULL OR failed_at IS NOT NULL);
