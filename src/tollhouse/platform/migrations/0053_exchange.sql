-- A code is exchanged by one statement. It reads the application by this function, whose second statement sees what was
-- committed while the first one waited: the settings that an exchange applies are those of the moment when it has the lock.
CREATE FUNCTION oauth_client_for_exchange(p_client_id text)
RETURNS TABLE (id text, auth_epoch integer, grant_epoch integer, scope_mask integer) ROWS 1
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(p_client_id, 0));
    RETURN QUERY
        SELECT c.id, c.auth_epoch, c.grant_epoch, c.scope_mask
        FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id
        WHERE c.id = p_client_id AND c.status = 'enabled' AND c.suspended_at IS NULL AND o.suspended_at IS NULL;
END
$$;
