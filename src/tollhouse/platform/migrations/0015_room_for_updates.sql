-- Every event is written twice at least: when it happens, and when its first attempt ends. On pages that are half empty the
-- second version finds its place beside the first, and no index has to learn of it. The page's other half would hold the
-- dead first versions anyway.

CREATE OR REPLACE FUNCTION webhook_make_partitions(p_now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_start timestamptz;
    v_name text;
    v_from text;
    v_parent text;
BEGIN
    FOR v_month IN 0..3 LOOP
        v_start := (date_trunc('month', p_now AT TIME ZONE 'UTC') + make_interval(months => v_month)) AT TIME ZONE 'UTC';
        FOREACH v_parent IN ARRAY ARRAY['webhook_events', 'webhook_attempts'] LOOP
            v_name := v_parent || '_' || to_char(v_start AT TIME ZONE 'UTC', 'YYYYMM');
            CONTINUE WHEN to_regclass(v_name) IS NOT NULL;
            EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', v_parent);
            CONTINUE WHEN to_regclass(v_name) IS NOT NULL;  -- another process made it while we waited
            v_from := CASE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = v_parent::regclass)
                           THEN quote_literal(webhook_first_id(v_start)) ELSE 'MINVALUE' END;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)', v_name, v_parent,
                           CASE v_parent WHEN 'webhook_events' THEN 50 ELSE 100 END);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', v_parent, v_name, v_from,
                           webhook_first_id((v_start AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'));
        END LOOP;
    END LOOP;
END $$;

DO $$
DECLARE
    v_partition regclass;
BEGIN
    FOR v_partition IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'webhook_events'::regclass LOOP
        EXECUTE format('ALTER TABLE %s SET (fillfactor = 50)', v_partition);
    END LOOP;
END $$;
