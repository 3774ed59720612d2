-- Several people share a merchant account, each with a role, and a person can belong to several merchants.

CREATE TABLE members (
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'administrator', 'finance', 'support', 'developer', 'read_only')),
    created_at timestamptz NOT NULL,
    removed_at timestamptz,
    PRIMARY KEY (merchant_id, user_id)
);
CREATE INDEX members_of_user ON members (user_id);
COMMENT ON COLUMN members.removed_at IS 'null: a member; the row stays, so that the audit log can name who left';
INSERT INTO members (merchant_id, user_id, role, created_at) SELECT merchant_id, id, 'owner', created_at FROM users;

-- The merchant row serializes two transactions that each take the role from one of the last two owners.
CREATE FUNCTION members_keep_owner() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM merchants WHERE id = OLD.merchant_id AND closed_at IS NULL FOR NO KEY UPDATE;
    IF FOUND AND NOT EXISTS (
        SELECT FROM members WHERE merchant_id = OLD.merchant_id AND role = 'owner' AND removed_at IS NULL) THEN
        RAISE EXCEPTION 'a merchant has an owner' USING ERRCODE = 'check_violation', CONSTRAINT = 'members_owner';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER owner_kept AFTER UPDATE OR DELETE ON members
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.role = 'owner') EXECUTE FUNCTION members_keep_owner();

ALTER TABLE sessions ADD COLUMN merchant_id uuid;
COMMENT ON COLUMN sessions.merchant_id IS 'the merchant that the session acts for';
UPDATE sessions s SET merchant_id = u.merchant_id FROM users u WHERE u.id = s.user_id;
ALTER TABLE sessions ADD CONSTRAINT sessions_of_member FOREIGN KEY (merchant_id, user_id) REFERENCES members;

-- Who made a key or an application, where that is known. The person can have been erased since.
ALTER TABLE api_keys ADD COLUMN created_by uuid;
ALTER TABLE oauth_clients ADD COLUMN created_by uuid;

-- `users.merchant_id` is read by the version before only, whose sign-ups and sign-ins know no members.
ALTER TABLE users ALTER COLUMN merchant_id DROP NOT NULL;
COMMENT ON COLUMN users.merchant_id IS 'the merchant that the user opened; for the version before members';
CREATE FUNCTION users_open_merchant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO members (merchant_id, user_id, role, created_at) VALUES (NEW.merchant_id, NEW.id, 'owner', NEW.created_at);
    RETURN NULL;
END $$;
CREATE TRIGGER member_made AFTER INSERT ON users
    FOR EACH ROW WHEN (NEW.merchant_id IS NOT NULL) EXECUTE FUNCTION users_open_merchant();
CREATE FUNCTION sessions_name_merchant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.merchant_id := (
        SELECT m.merchant_id FROM users u JOIN members m ON (m.merchant_id, m.user_id) = (u.merchant_id, u.id)
        WHERE u.id = NEW.user_id AND m.removed_at IS NULL);
    RETURN NEW;
END $$;
CREATE TRIGGER merchant_named BEFORE INSERT ON sessions
    FOR EACH ROW WHEN (NEW.merchant_id IS NULL) EXECUTE FUNCTION sessions_name_merchant();
