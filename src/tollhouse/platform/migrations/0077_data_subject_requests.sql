-- Exports and erasures of what is kept about a person (GDPR, Art. 15 and 17). Of the email address only a keyed hash is kept, by
-- which a restored database can be compared with the erasures since its backup.
CREATE TABLE data_subject_requests (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('export', 'erasure')),
    email_mac bytea NOT NULL CHECK (octet_length(email_mac) = 32),
    at timestamptz NOT NULL
);
COMMENT ON COLUMN data_subject_requests.id IS 'the subject of the operator''s action';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON data_subject_requests
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON data_subject_requests
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- The actions of operators: whether one concerns a merchant, and needs a reason. A migration that adds one replaces this function.
CREATE FUNCTION operator_action_allowed(p_action text, p_of_merchant boolean, p_has_reason boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE
        WHEN p_action = ANY (ARRAY['merchant_suspended', 'merchant_reactivated', 'merchant_exported', 'project_approval_given',
                                   'project_approved', 'withdrawal_approved', 'refund_approved', 'payout_approved',
                                   'application_suspended', 'application_reactivated'])
            THEN p_of_merchant
        WHEN p_action = ANY (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected', 'refund_rejected',
                                   'payout_refused', 'payout_returned', 'second_factor_removed', 'merchant_erased'])
            THEN p_of_merchant AND p_has_reason
        WHEN p_action = ANY (ARRAY['operator_invited', 'operator_joined', 'operator_closed', 'statement_imported',
                                   'batch_exported', 'person_exported', 'person_erased'])
            THEN NOT p_of_merchant
        WHEN p_action = ANY (ARRAY['transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'transfer_recorded_as_fee',
                                   'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payouts_paused',
                                   'payouts_resumed', 'position_limit_changed'])
            THEN NOT p_of_merchant AND p_has_reason
        ELSE false
    END
$$;
ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_action_check,
    DROP CONSTRAINT operator_actions_whose,
    DROP CONSTRAINT operator_actions_why,
    ADD CONSTRAINT operator_actions_allowed
        CHECK (operator_action_allowed(action, merchant_id IS NOT NULL, reason IS NOT NULL));
