-- Changes of approved live projects take effect when an operator approves them. A process of the version before is refused
-- such a change, which its merchant can repeat after the upgrade.
ALTER TABLE projects
    ADD COLUMN pending_changes jsonb,
    ADD COLUMN changes_rejected_because text,
    ADD CONSTRAINT projects_pending_changes CHECK (
        pending_changes IS NULL
        OR (mode = 'live' AND status = 'approved' AND changes_rejected_because IS NULL
            AND jsonb_typeof(pending_changes) = 'object' AND pending_changes <> '{}'
            AND pending_changes - 'name' - 'website_url' - 'description' = '{}'
            AND (NOT pending_changes ? 'name' OR jsonb_typeof(pending_changes -> 'name') = 'string'))),
    ADD CONSTRAINT projects_changes_rejected CHECK (changes_rejected_because IS NULL OR status = 'approved');
CREATE INDEX projects_with_changes_to_review ON projects (updated_at) WHERE pending_changes IS NOT NULL;

CREATE FUNCTION projects_keep_approved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.pending_changes IS NULL
       AND NEW.name = coalesce(OLD.pending_changes ->> 'name', OLD.name)
       AND NEW.website_url IS NOT DISTINCT FROM (CASE WHEN OLD.pending_changes ? 'website_url'
               THEN OLD.pending_changes ->> 'website_url' ELSE OLD.website_url END)
       AND NEW.description IS NOT DISTINCT FROM (CASE WHEN OLD.pending_changes ? 'description'
               THEN OLD.pending_changes ->> 'description' ELSE OLD.description END)
       OR EXISTS (SELECT FROM merchants WHERE id = OLD.merchant_id AND closed_at IS NOT NULL)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an approved live project changes only by approval' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER projects_keep_approved BEFORE UPDATE ON projects
    FOR EACH ROW
    WHEN (OLD.mode = 'live' AND OLD.status = 'approved'
          AND (OLD.name IS DISTINCT FROM NEW.name OR OLD.website_url IS DISTINCT FROM NEW.website_url
               OR OLD.description IS DISTINCT FROM NEW.description))
    EXECUTE FUNCTION projects_keep_approved();

ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_allowed;
ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_allowed CHECK (
    operator_action_allowed(action, merchant_id IS NOT NULL, reason IS NOT NULL)
    OR (action = 'project_changes_approved' AND merchant_id IS NOT NULL)
    OR (action = 'project_changes_rejected' AND merchant_id IS NOT NULL AND reason IS NOT NULL));
