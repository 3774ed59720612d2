-- A dispute after a refund is a dispute like any other: it can take what was received, also if that was refunded before. A refund
-- gives back at most what the merchant keeps at its beginning.
ALTER TABLE transactions
    DROP CONSTRAINT transactions_given_back_once,
    ADD CONSTRAINT transactions_refunded_once
        CHECK (refunded_minor + returning_minor <= received_minor - (unapplied_minor - returning_unapplied_minor)) NOT VALID,
    ADD CONSTRAINT transactions_disputed_once CHECK (charged_back_minor <= received_minor) NOT VALID,
    -- Of a disputed payment, all can have been refunded before it was credited.
    DROP CONSTRAINT transactions_check9,
    ADD CONSTRAINT transactions_credited_to_succeed
        CHECK (status NOT IN ('succeeded', 'partially_refunded') OR (succeeded_at IS NOT NULL AND credited_minor > 0)) NOT VALID;
CREATE FUNCTION transactions_refuse_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a refund gives back what the merchant keeps, or what awaits a decision'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'transactions_given_back_once';
END $$;
CREATE TRIGGER given_back_once BEFORE UPDATE ON transactions FOR EACH ROW
    WHEN (NEW.returning_minor > OLD.returning_minor
          AND NEW.refunded_minor + NEW.returning_minor + NEW.charged_back_minor
              > NEW.received_minor - (NEW.unapplied_minor - NEW.returning_unapplied_minor))
    EXECUTE FUNCTION transactions_refuse_refund();
INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('transactions', 'refunded', 'chargeback'),
    ('transactions', 'refund_required', 'chargeback'),  -- a refund of money that was never credited is on its way
    ('transactions', 'chargeback', 'refund_required');  -- that refund has failed, and the dispute is won
