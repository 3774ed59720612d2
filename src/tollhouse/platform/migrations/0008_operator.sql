-- What operators did, and why. Kept for ever.

ALTER TABLE projects ADD COLUMN rejected_because text CHECK (rejected_because IS NULL OR status = 'rejected');

CREATE TABLE operator_actions (
    id uuid PRIMARY KEY,
    operator text NOT NULL CHECK (operator <> ''),
    action text NOT NULL CHECK (action IN ('merchant_suspended', 'merchant_reactivated', 'project_approved',
                                           'project_rejected', 'balance_adjusted', 'operator_invited',
                                           'operator_joined', 'operator_closed', 'withdrawal_approved',
                                           'withdrawal_rejected')),
    merchant_id uuid REFERENCES merchants,  -- null: it was about an operator
    mode text CHECK (mode IN ('live', 'test')),  -- null: both
    subject_id uuid NOT NULL,  -- the merchant, the project, the withdrawal, the operator
    reason text CHECK (reason <> ''),
    currency text,
    amount_minor bigint CHECK (amount_minor <> 0),  -- signed: below zero takes from the merchant
    at timestamptz NOT NULL,
    CHECK ((merchant_id IS NULL) = (action LIKE 'operator%')),
    CHECK (merchant_id IS NOT NULL OR mode IS NULL),
    CHECK (reason IS NOT NULL OR action NOT IN ('project_rejected', 'balance_adjusted', 'withdrawal_rejected')),
    CHECK ((currency IS NOT NULL AND amount_minor IS NOT NULL) = (action = 'balance_adjusted'))
);
CREATE INDEX operator_actions_of_merchant ON operator_actions (merchant_id, at DESC, id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON operator_actions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON operator_actions FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
