-- One mechanism for every partitioned table. What is listed here is made ahead by one function and dropped by another. Both run
-- with the rights of the owner, so that the role of the service needs none to create or drop a table.

DROP FUNCTION oauth_make_token_partitions(timestamptz);
DROP FUNCTION webhook_make_partitions(timestamptz);
DROP FUNCTION api_requests_make_partitions(timestamptz);

CREATE VIEW partitioned_tables (name, step, ahead, suffix, by_id, open_start, fill) AS VALUES
    ('oauth_access_tokens', interval '6 hours', 4, 'YYYYMMDDHH24', false, false, 100),
    ('webhook_events', interval '1 month', 3, 'YYYYMM', true, true, 50),
    ('webhook_attempts', interval '1 month', 3, 'YYYYMM', true, true, 100),
    ('api_requests', interval '1 day', 2, 'YYYYMMDD', true, false, 100);
COMMENT ON COLUMN partitioned_tables.ahead IS 'partitions beside the present one';
COMMENT ON COLUMN partitioned_tables.by_id IS 'partitioned by UUID version 7, not by time';
COMMENT ON COLUMN partitioned_tables.open_start IS 'the first partition takes everything older too';

CREATE FUNCTION partition_start(p_step interval, p_moment timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN p_step = interval '1 month' THEN date_trunc('month', p_moment AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                ELSE date_bin(p_step, p_moment, timestamptz '2000-01-01 00:00:00+00') END
$$;

-- Make the present partition and those ahead of every table, and say for which moments all of them are there. Cheap when they
-- are; any process may call it at any time. A table that is attached holds up no reader or writer of the others.
CREATE FUNCTION partitions_make(p_now timestamptz, OUT covered_from timestamptz, OUT covered_until timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    v_table record;
    v_start timestamptz;
    v_end timestamptz;
    v_name text;
    v_open boolean;
BEGIN
    FOR v_table IN SELECT * FROM partitioned_tables LOOP
        v_end := partition_start(v_table.step, p_now);
        covered_from := greatest(covered_from, v_end);
        FOR v_slot IN 0..v_table.ahead LOOP
            v_start := v_end;
            v_end := v_start + v_table.step;
            v_name := v_table.name || '_' || to_char(v_start, v_table.suffix);
            CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(v_name));
            -- What ATTACH takes anyway. An advisory lock would not do: waiting for one, we do not learn of new tables.
            EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', v_table.name);
            CONTINUE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(v_name));
            v_open := v_table.open_start AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = v_table.name::regclass);
            BEGIN
                IF to_regclass(v_name) IS NULL THEN
                    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)', v_name, v_table.name,
                                   v_table.fill);
                END IF;
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', v_table.name, v_name,
                               CASE WHEN v_open THEN 'MINVALUE' WHEN v_table.by_id THEN quote_literal(webhook_first_id(v_start))
                                    ELSE quote_literal(v_start) END,
                               CASE WHEN v_table.by_id THEN webhook_first_id(v_end)::text ELSE v_end::text END);
            EXCEPTION WHEN invalid_object_definition THEN
                NULL;  -- the partition with the open start takes these already
            END;
        END LOOP;
        covered_until := least(covered_until, v_end);
    END LOOP;
END $$;

-- Drop the partitions of a table that were over by a moment; how many. Its lock would hold up everybody who comes after it, so
-- that it gives up soon where it has to wait: the next run does it.
CREATE FUNCTION partitions_drop(p_table text, p_ended_by timestamptz) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' SET lock_timeout = '200ms' AS $$
DECLARE
    v_table record;
    v_name text;
    v_dropped int := 0;
BEGIN
    SELECT * INTO STRICT v_table FROM partitioned_tables WHERE name = p_table;
    IF NOT pg_try_advisory_xact_lock(hashtextextended(p_table || ' are dropped', 0)) THEN
        RETURN 0;
    END IF;
    -- By name, so that one that an earlier version detached and did not come to drop is found as well.
    FOR v_name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname ~ ('^' || p_table || '_[0-9]{6,10}$')
          AND to_timestamp(right(c.relname, -length(p_table) - 1), v_table.suffix) + v_table.step <= p_ended_by
        ORDER BY c.relname
    LOOP
        EXECUTE format('DROP TABLE %I', v_name);
        v_dropped := v_dropped + 1;
    END LOOP;
    RETURN v_dropped;
END $$;
