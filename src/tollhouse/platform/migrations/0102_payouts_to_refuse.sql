-- Operators request on their pages that a payout on a network is refused. The worker does it when the signer says that nothing was signed.

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
                                   'batch_exported', 'person_exported', 'person_erased'])
            THEN NOT p_of_merchant
        WHEN p_action = ANY (ARRAY['transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'transfer_recorded_as_fee',
                                   'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payouts_paused',
                                   'payouts_resumed', 'position_limit_changed', 'rail_float_changed'])
            THEN NOT p_of_merchant AND p_has_reason
        ELSE false
    END
$$;

-- The operator's action, while the worker has not carried it out. Such a payout is not signed.
ALTER TABLE chain_payouts
    ADD COLUMN refused_by_action_id uuid,
    ADD CONSTRAINT chain_payouts_refused CHECK (refused_by_action_id IS NULL OR status IN ('waiting', 'failed'));
