-- What guards an account beside its password: sessions that can be told apart, when somebody last proved who they are,
-- and a second factor.

ALTER TABLE sessions
    ADD COLUMN public_id uuid NOT NULL DEFAULT gen_random_uuid(),  -- what the list of sessions calls it
    ADD COLUMN user_agent text,
    ADD COLUMN address text,
    ADD COLUMN proved_at timestamptz;  -- null: not again since it was opened

-- The secret that an authenticator makes codes of, sealed. A row opens nothing, it only asks for more: so those of merchants'
-- people and of operators stand together.
CREATE TABLE second_factors (
    holder_id uuid PRIMARY KEY,  -- a user's or an operator's
    key_id text NOT NULL,
    nonce bytea NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext bytea NOT NULL,
    last_step bigint NOT NULL DEFAULT 0,  -- the 30 seconds whose code was used last: none that is as old counts again
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz  -- null: waits for its first code, and is asked for nowhere
);

CREATE TABLE backup_codes (
    holder_id uuid NOT NULL REFERENCES second_factors ON DELETE CASCADE,
    code_hash bytea NOT NULL CHECK (octet_length(code_hash) = 32),
    used_at timestamptz,
    PRIMARY KEY (holder_id, code_hash)
);

-- Whoever lost every way in is let in again by an operator, which is kept.
ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_action_check,
    DROP CONSTRAINT operator_actions_why,
    ADD CONSTRAINT operator_actions_action_check
        CHECK (action IN ('merchant_suspended', 'merchant_reactivated', 'project_approved', 'project_rejected',
                          'balance_adjusted', 'operator_invited', 'operator_joined', 'operator_closed',
                          'withdrawal_approved', 'withdrawal_rejected', 'statement_imported', 'transfer_assigned',
                          'transfer_dismissed', 'batch_exported', 'payout_refused', 'second_factor_removed')),
    ADD CONSTRAINT operator_actions_why
        CHECK (reason IS NOT NULL OR action NOT IN ('project_rejected', 'balance_adjusted', 'withdrawal_rejected',
                                                    'transfer_assigned', 'transfer_dismissed', 'payout_refused',
                                                    'second_factor_removed'));
