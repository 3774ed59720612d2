-- What operators decide about unmatched transfers: a fee of the bank, a write-off, a return of a payout, a payment that is taken
-- back. Dismissed, written off and recorded as a fee can be decided again.
ALTER TABLE bank_entry_parts
    DROP CONSTRAINT bank_entry_parts_outcome_check,
    ADD CONSTRAINT bank_entry_parts_outcome_check
        CHECK (outcome IN ('payment', 'payment_return', 'payout', 'payout_return', 'unmatched', 'dismissed', 'fee',
                           'written_off')),
    ADD CONSTRAINT bank_entry_parts_decided
        CHECK (outcome NOT IN ('dismissed', 'fee', 'written_off') OR decided_at IS NOT NULL);
DROP TRIGGER decided_once ON bank_entry_parts;
CREATE TRIGGER decided_once BEFORE UPDATE ON bank_entry_parts FOR EACH ROW
    WHEN (OLD.amount_minor <> NEW.amount_minor OR OLD.entry_id <> NEW.entry_id
          OR (OLD.outcome <> 'unmatched'
              AND NOT (OLD.outcome IN ('dismissed', 'fee', 'written_off') AND NEW.outcome = 'unmatched')))
    EXECUTE FUNCTION bank_entry_parts_refuse_change();

ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_why,
    ADD CONSTRAINT operator_actions_why
        CHECK (reason IS NOT NULL OR action <> ALL (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected',
               'refund_rejected', 'transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'payout_refused',
               'second_factor_removed', 'payouts_paused', 'payouts_resumed', 'transfer_recorded_as_fee',
               'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payout_returned']));
DO $$
DECLARE
    v_before text;
BEGIN
    SELECT pg_get_expr(conbin, conrelid) INTO v_before FROM pg_constraint
    WHERE conrelid = 'operator_actions'::regclass AND conname = 'operator_actions_action_check';
    EXECUTE format('ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_check, '
                   'ADD CONSTRAINT operator_actions_action_check CHECK (%s OR action IN (%L, %L, %L, %L, %L))',
                   v_before, 'transfer_recorded_as_fee', 'transfer_written_off', 'transfer_reopened',
                   'transfer_taken_back', 'payout_returned');
END $$;
