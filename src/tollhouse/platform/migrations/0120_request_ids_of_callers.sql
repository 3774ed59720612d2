-- transactional: false
-- Requests are found by the ID that their caller chose. Other requests have one ID, and no row in this index. It is built day
-- by day, because a build keeps requests of its day from being written.
DO $$
DECLARE
    v_day regclass;
BEGIN
    FOR v_day IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'api_requests'::regclass ORDER BY inhrelid LOOP
        EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON %s (request_id) WHERE request_id <> id',
                       v_day || '_by_callers_id', v_day);
        COMMIT;
    END LOOP;
END $$;
CREATE INDEX IF NOT EXISTS api_requests_by_callers_id ON api_requests (request_id) WHERE request_id <> id;
