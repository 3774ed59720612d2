-- The status that a row counts as at a moment: what expires is expired from its time on, even if no job has recorded it yet.
-- PostgreSQL puts these functions in the place of their calls, so that indexes are used as before.

CREATE FUNCTION status_at(p_status text, p_open text, p_expires_at timestamptz, p_at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_status = p_open AND p_expires_at <= p_at THEN 'expired' ELSE p_status END
$$;

-- An attempt without money expires with its link.
CREATE FUNCTION payment_status_at(
    p_status text, p_received bigint, p_link_status text, p_link_expires_at timestamptz, p_at timestamptz
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_status = 'pending' AND p_received = 0
                     AND status_at(p_link_status, 'active', p_link_expires_at, p_at) IN ('completed', 'expired')
                THEN 'expired' ELSE p_status END
$$;

-- The statuses of rows that can count as one of these: what is shown as expired may be stored as open.
CREATE FUNCTION stored_statuses(p_statuses text[], p_open text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN 'expired' = ANY (p_statuses) THEN p_statuses || p_open ELSE p_statuses END
$$;
