-- An operator suspends a single application, whoever owns it. Its grants stay, and work again when it is reactivated.

ALTER TABLE oauth_clients ADD COLUMN suspended_at timestamptz;
CREATE INDEX oauth_clients_newest ON oauth_clients (created_at DESC, id DESC);

-- Applications have no uuid: `client_id` names the one that a deed is about, beside its owner.
ALTER TABLE operator_actions
    ADD COLUMN client_id text REFERENCES oauth_clients,
    ADD CONSTRAINT operator_actions_application
        CHECK ((client_id IS NOT NULL) = (action LIKE 'application%')
               AND (action <> 'application_suspended' OR reason IS NOT NULL));
CREATE INDEX operator_actions_of_application ON operator_actions (client_id, id DESC) WHERE client_id IS NOT NULL;

-- Whatever was allowed before stays allowed.
DO $$
DECLARE
    v_before text;
BEGIN
    SELECT pg_get_expr(conbin, conrelid) INTO v_before FROM pg_constraint
    WHERE conrelid = 'operator_actions'::regclass AND conname = 'operator_actions_action_check';
    EXECUTE format('ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_check, '
                   'ADD CONSTRAINT operator_actions_action_check CHECK (%s OR action IN (%L, %L))',
                   v_before, 'application_suspended', 'application_reactivated');
END $$;

-- What a deed is about cannot be changed behind the program's back either. Deeds about no application keep their digests.
CREATE OR REPLACE FUNCTION row_digest(operator_actions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(record_send(ROW($1.id, $1.operator, $1.action, $1.merchant_id, $1.mode, $1.subject_id, $1.reason,
                                  $1.currency, $1.amount_minor, $1.at)) || coalesce(convert_to($1.client_id, 'UTF8'), ''))
$$;
