-- Device authorization (RFC 8628): a request that is approved on another device, and an application without an owner that uses it.

ALTER TABLE oauth_clients ADD COLUMN grant_types text[] NOT NULL DEFAULT '{authorization_code,refresh_token}'
    CONSTRAINT oauth_clients_grant_types CHECK (
        grant_types <@ '{authorization_code,refresh_token,urn:ietf:params:oauth:grant-type:device_code}'::text[]
        AND grant_types && '{authorization_code,urn:ietf:params:oauth:grant-type:device_code}'::text[]
    );
ALTER TABLE oauth_clients ADD COLUMN device_writes_allowed_at timestamptz;
COMMENT ON COLUMN oauth_clients.device_writes_allowed_at IS 'since when an operator lets devices request live write permissions';
ALTER TABLE oauth_clients ALTER COLUMN merchant_id DROP NOT NULL;
COMMENT ON COLUMN oauth_clients.merchant_id IS 'null: part of every installation, without an owner';
ALTER TABLE oauth_clients DROP CONSTRAINT oauth_clients_redirect_uris_check;
ALTER TABLE oauth_clients ADD CONSTRAINT oauth_clients_redirect_uris_check CHECK (
    cardinality(redirect_uris) <= 10 AND (cardinality(redirect_uris) >= 1 OR NOT 'authorization_code' = ANY (grant_types)));

-- All permissions but those to pay an owner.
INSERT INTO oauth_clients
    (id, merchant_id, client_type, name, description, website_url, redirect_uris, scope_mask, status, grant_types, created_at, updated_at)
VALUES ('tollhouse-cli', NULL, 'public', 'Tollhouse CLI', 'The command line of this service, on the computer of whoever started it.',
        NULL, '{}', (1 << 19) - 1 - (1 << 5) - (1 << 6), 'enabled',
        '{urn:ietf:params:oauth:grant-type:device_code,refresh_token}', now(), now())
ON CONFLICT (id) DO NOTHING;

-- A request of a device ends in the approval of its device code instead of a redirect.
ALTER TABLE oauth_requests ALTER COLUMN redirect_uri DROP NOT NULL;
ALTER TABLE oauth_requests ALTER COLUMN state DROP NOT NULL;
ALTER TABLE oauth_requests ALTER COLUMN challenge DROP NOT NULL;
ALTER TABLE oauth_requests ADD COLUMN device_code_hash bytea CHECK (octet_length(device_code_hash) = 32);
ALTER TABLE oauth_requests ADD COLUMN user_code text CHECK (user_code ~ '^[BCDFGHJKLMNPQRSTVWXZ]{8}$');
ALTER TABLE oauth_requests ADD COLUMN device_address text;
ALTER TABLE oauth_requests ADD COLUMN device_agent text;
ALTER TABLE oauth_requests ADD COLUMN poll_interval_s integer NOT NULL DEFAULT 5;
ALTER TABLE oauth_requests ADD COLUMN polled_at timestamptz;
ALTER TABLE oauth_requests ADD CONSTRAINT oauth_requests_ending CHECK (
    num_nulls(redirect_uri, state, challenge) = CASE WHEN device_code_hash IS NULL THEN 0 ELSE 3 END
    AND num_nulls(user_code, device_address, device_agent) = CASE WHEN device_code_hash IS NULL THEN 3 ELSE 0 END);
CREATE UNIQUE INDEX oauth_requests_by_device_code ON oauth_requests (device_code_hash) WHERE device_code_hash IS NOT NULL;
CREATE UNIQUE INDEX oauth_requests_by_user_code ON oauth_requests (user_code) WHERE user_code IS NOT NULL;

CREATE OR REPLACE FUNCTION oauth_client_for_exchange(p_client_id text)
RETURNS TABLE (id text, auth_epoch integer, grant_epoch integer, scope_mask integer)
LANGUAGE plpgsql ROWS 1 SET plan_cache_mode TO 'force_generic_plan' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(p_client_id, 0));
    RETURN QUERY
        SELECT c.id, c.auth_epoch, c.grant_epoch, c.scope_mask
        FROM oauth_clients c LEFT JOIN merchants o ON o.id = c.merchant_id
        WHERE c.id = p_client_id AND c.status = 'enabled' AND c.suspended_at IS NULL AND o.suspended_at IS NULL;
END
$$;

-- What operators do to an application concerns its owner, if it has one.
ALTER TABLE operator_action_kinds ALTER COLUMN of_merchant DROP NOT NULL;
COMMENT ON COLUMN operator_action_kinds.of_merchant IS 'whether the action names a merchant; null: it may';
UPDATE operator_action_kinds SET of_merchant = NULL WHERE action IN ('application_suspended', 'application_reactivated');
INSERT INTO operator_action_kinds (action, of_merchant, needs_reason) VALUES
    ('application_device_writes_allowed', NULL, true), ('application_device_writes_withdrawn', NULL, false);
CREATE OR REPLACE FUNCTION operator_actions_require_kind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM operator_action_kinds k
        WHERE k.action = NEW.action AND coalesce(k.of_merchant = (NEW.merchant_id IS NOT NULL), true)
          AND (NEW.reason IS NOT NULL OR NOT k.needs_reason)
    ) THEN
        RAISE EXCEPTION 'an action of operators is of a known kind, with the merchant and the reason that it needs'
            USING ERRCODE = 'check_violation', TABLE = 'operator_actions', CONSTRAINT = 'operator_actions_allowed';
    END IF;
    RETURN NEW;
END $$;
