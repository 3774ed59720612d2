-- What operators do with the bank is kept in their history too.

ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_action_check,
    DROP CONSTRAINT operator_actions_check,
    DROP CONSTRAINT operator_actions_check2,
    ADD CONSTRAINT operator_actions_action_check
        CHECK (action IN ('merchant_suspended', 'merchant_reactivated', 'project_approved', 'project_rejected',
                          'balance_adjusted', 'operator_invited', 'operator_joined', 'operator_closed',
                          'withdrawal_approved', 'withdrawal_rejected', 'statement_imported', 'transfer_assigned',
                          'transfer_dismissed', 'batch_exported', 'payout_refused')),
    -- No merchant: it was about an operator, or the bank, whose statements, transfers and batches are of the whole house.
    ADD CONSTRAINT operator_actions_whose
        CHECK ((merchant_id IS NULL) = (action LIKE 'operator%' OR action LIKE 'statement%' OR action LIKE 'transfer%'
                                        OR action LIKE 'batch%')),
    ADD CONSTRAINT operator_actions_why
        CHECK (reason IS NOT NULL OR action NOT IN ('project_rejected', 'balance_adjusted', 'withdrawal_rejected',
                                                    'transfer_assigned', 'transfer_dismissed', 'payout_refused'));

CREATE INDEX bank_entries_of_statement ON bank_entries (first_statement_id, id);
