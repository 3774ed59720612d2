-- Payouts on networks whose signer has no connection: exported to a file with their nonces, and imported when they are signed.
-- Several can be exported at once. One that was exported may be signed, so it keeps its nonce for good.
ALTER TABLE chain_payouts
    ADD COLUMN exported_at timestamptz,  -- when its nonce was given out in a file for the first time
    ADD CONSTRAINT chain_payouts_exported CHECK (exported_at IS NULL OR (nonce IS NOT NULL AND status <> 'waiting'));
DROP INDEX chain_payouts_unsigned;
CREATE UNIQUE INDEX chain_payouts_unsigned ON chain_payouts (rail, mode, wallet)
    WHERE status = 'reserved' AND exported_at IS NULL;
CREATE INDEX chain_payouts_unfinished_exports ON chain_payouts (rail, mode, nonce)
    WHERE exported_at IS NOT NULL AND status IN ('reserved', 'signed');

CREATE FUNCTION chain_payouts_keep_exported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.exported_at IS DISTINCT FROM NEW.exported_at OR OLD.nonce IS DISTINCT FROM NEW.nonce OR OLD.gas IS DISTINCT FROM NEW.gas
       OR NEW.fee_per_gas < OLD.fee_per_gas OR NEW.tip_per_gas < OLD.tip_per_gas
    THEN
        RAISE EXCEPTION 'an exported payout keeps its nonce, and its fee only rises' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER chain_payouts_keep_exported BEFORE UPDATE ON chain_payouts
    FOR EACH ROW WHEN (OLD.exported_at IS NOT NULL) EXECUTE FUNCTION chain_payouts_keep_exported();

CREATE OR REPLACE FUNCTION operator_action_allowed(p_action text, p_of_merchant boolean, p_has_reason boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE
        WHEN p_action = ANY (ARRAY['merchant_suspended', 'merchant_reactivated', 'merchant_exported', 'project_approval_given',
                                   'project_approved', 'withdrawal_approved', 'refund_approved', 'payout_approved',
                                   'application_suspended', 'application_reactivated'])
            THEN p_of_merchant
        WHEN p_action = ANY (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected', 'refund_rejected',
                                   'payout_refused', 'payout_to_be_refused', 'payout_returned', 'second_factor_removed',
                                   'merchant_erased'])
            THEN p_of_merchant AND p_has_reason
        WHEN p_action = ANY (ARRAY['operator_invited', 'operator_joined', 'operator_closed', 'statement_imported',
                                   'batch_exported', 'person_exported', 'person_erased',
                                   'bitcoin_batch_exported', 'bitcoin_batch_imported', 'bitcoin_batch_replaced',
                                   'network_payouts_exported', 'network_payouts_imported'])
            THEN NOT p_of_merchant
        WHEN p_action = ANY (ARRAY['transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'transfer_recorded_as_fee',
                                   'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payouts_paused',
                                   'payouts_resumed', 'position_limit_changed', 'rail_float_changed',
                                   'bitcoin_batch_canceled'])
            THEN NOT p_of_merchant AND p_has_reason
        ELSE false
    END
$$;
