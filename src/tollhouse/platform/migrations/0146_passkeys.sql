-- Passkeys of merchants' users and of operators (Web Authentication), and emails about them.

CREATE TABLE passkeys (
    id uuid PRIMARY KEY,
    holder_id uuid NOT NULL,
    holder_kind text NOT NULL CHECK (holder_kind IN ('person', 'operator')),
    rp_id text NOT NULL,
    credential_id bytea NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    public_key bytea NOT NULL,
    sign_count bigint NOT NULL CHECK (sign_count BETWEEN 0 AND 4294967295),
    transports text[] NOT NULL,
    backup_eligible boolean NOT NULL,
    backed_up boolean NOT NULL CHECK (backup_eligible OR NOT backed_up),
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz
);
COMMENT ON COLUMN passkeys.holder_id IS 'a user or an operator';
COMMENT ON COLUMN passkeys.rp_id IS 'the host of the base URL when it was created; it works at no other host';
CREATE INDEX passkeys_of_holder ON passkeys (holder_id, created_at);

-- Whether a user or an operator has two-factor authentication.
CREATE FUNCTION has_second_factor(p_holder uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM second_factors f WHERE f.holder_id = p_holder AND f.confirmed_at IS NOT NULL)
        OR EXISTS (SELECT FROM passkeys p WHERE p.holder_id = p_holder)
$$;

-- Backup codes also belong to accounts that have passkeys and no authenticator app.
ALTER TABLE backup_codes DROP CONSTRAINT backup_codes_holder_id_fkey;

INSERT INTO mail_kinds (about) VALUES ('passkey_added'), ('passkey_removed');
