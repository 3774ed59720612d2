-- Which status may follow which, as rows; one trigger function reads them. `outgoing_transfers` has its `review`.
CREATE TABLE state_transitions (
    record text NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL,
    PRIMARY KEY (record, from_status, to_status)
);
INSERT INTO state_transitions (record, from_status, to_status)
SELECT record, from_status, unnest(to_statuses) FROM (VALUES
    ('transactions', 'pending', ARRAY['processing', 'succeeded', 'failed', 'expired', 'refund_required']),
    ('transactions', 'processing', ARRAY['pending', 'succeeded', 'failed', 'refund_required']),
    ('transactions', 'failed', ARRAY['succeeded', 'refund_required']),
    ('transactions', 'expired', ARRAY['succeeded', 'refund_required']),
    ('transactions', 'refund_required', ARRAY['succeeded', 'partially_refunded', 'refunded']),
    ('transactions', 'succeeded', ARRAY['partially_refunded', 'refunded', 'chargeback']),
    ('transactions', 'partially_refunded', ARRAY['succeeded', 'refunded', 'chargeback']),
    ('transactions', 'refunded', ARRAY['succeeded', 'partially_refunded', 'refund_required']),  -- the bank returned the refund
    ('transactions', 'chargeback', ARRAY['succeeded', 'partially_refunded', 'refunded']),  -- the merchant won the dispute
    ('withdrawals', 'pending_review', ARRAY['approved', 'failed', 'canceled']),
    ('withdrawals', 'approved', ARRAY['processing', 'failed', 'canceled']),
    ('withdrawals', 'processing', ARRAY['completed', 'failed']),
    ('withdrawals', 'completed', ARRAY['failed']),  -- the bank returned the money
    ('balance_payments', 'reserved', ARRAY['captured', 'released', 'expired']),
    ('balance_payments', 'captured', ARRAY['partially_refunded', 'refunded']),
    ('balance_payments', 'partially_refunded', ARRAY['refunded']),
    ('bank_payouts', 'prepared', ARRAY['exported', 'refused']),
    ('bank_payouts', 'exported', ARRAY['confirmed', 'returned', 'refused']),
    ('bank_payouts', 'confirmed', ARRAY['returned']),
    ('fulfillments', 'pending', ARRAY['processing', 'canceled']),
    ('fulfillments', 'processing', ARRAY['completed', 'partially_completed', 'failed']),
    ('outgoing_transfers', 'required', ARRAY['approved', 'rejected']),
    ('outgoing_transfers', 'not_required', ARRAY['rejected']),
    ('outgoing_transfers', 'approved', ARRAY['rejected'])
) AS allowed (record, from_status, to_statuses);
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON state_transitions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON state_transitions FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE FUNCTION state_transitions_require(p_record text, p_from text, p_to text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM state_transitions t WHERE t.record = p_record AND t.from_status = p_from AND t.to_status = p_to) THEN
        RAISE EXCEPTION '%: % cannot become %', p_record, p_from, p_to USING ERRCODE = 'check_violation';
    END IF;
END $$;
CREATE FUNCTION state_transitions_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM state_transitions_require(TG_TABLE_NAME, OLD.status, NEW.status);
    RETURN NEW;
END $$;

DO $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['transactions', 'withdrawals', 'balance_payments', 'bank_payouts', 'fulfillments'] LOOP
        EXECUTE format('DROP TRIGGER %I ON %I', v_table || '_step', v_table);
        EXECUTE format('DROP FUNCTION %I()', v_table || '_refuse_step');
        EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OF status ON %I FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
                        EXECUTE FUNCTION state_transitions_enforce()', v_table || '_transition', v_table);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION outgoing_transfers_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.review NOT IN ('not_required', 'required') OR NEW.approvals <> '{}' OR NEW.released_at IS NOT NULL
           OR NEW.closed_at IS NOT NULL THEN
            RAISE EXCEPTION 'an outgoing transfer begins unreviewed' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.id, OLD.kind, OLD.merchant_id, OLD.mode, OLD.rail, OLD.currency, OLD.amount_minor, OLD.receiver, OLD.receiver_name,
        OLD.payer_account, OLD.method_id, OLD.limit_day, OLD.counted_minor, OLD.created_at)
       IS DISTINCT FROM
       (NEW.id, NEW.kind, NEW.merchant_id, NEW.mode, NEW.rail, NEW.currency, NEW.amount_minor, NEW.receiver, NEW.receiver_name,
        NEW.payer_account, NEW.method_id, NEW.limit_day, NEW.counted_minor, NEW.created_at)
       OR NEW.approvals_needed < OLD.approvals_needed OR NEW.approvals_by_command < OLD.approvals_by_command
       OR NEW.approvals[:cardinality(OLD.approvals)] <> OLD.approvals
       OR (OLD.released_at IS NOT NULL AND NEW.released_at IS DISTINCT FROM OLD.released_at)
       OR (OLD.closed_at IS NOT NULL AND (NEW.closed_at, NEW.released_at) IS DISTINCT FROM (OLD.closed_at, OLD.released_at))
    THEN
        RAISE EXCEPTION 'an outgoing transfer stays what it is' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.review <> NEW.review THEN
        PERFORM state_transitions_require('outgoing_transfers', OLD.review, NEW.review);
    END IF;
    IF (NEW.review = 'approved' AND OLD.review <> 'approved') OR (NEW.released_at IS NOT NULL AND OLD.released_at IS NULL) THEN
        PERFORM FROM merchants WHERE id = NEW.merchant_id AND suspended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'outgoing_transfers_suspended';
        END IF;
    END IF;
    RETURN NEW;
END $$;
