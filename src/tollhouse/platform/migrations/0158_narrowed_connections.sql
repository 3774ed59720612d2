-- A connection that loses a scope is another one than that which proposed: what waits of it is canceled.

CREATE FUNCTION proposals_cancel_of_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE proposals SET status = 'canceled', ended_at = least(expires_at, now())
    WHERE grant_id = NEW.id AND status = 'waiting';
    RETURN NULL;
END $$;
CREATE TRIGGER narrowing_cancels_proposals AFTER UPDATE OF scope_mask ON oauth_grants
    FOR EACH ROW WHEN (OLD.scope_mask & ~NEW.scope_mask <> 0)
    EXECUTE FUNCTION proposals_cancel_of_grant();
