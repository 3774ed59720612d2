-- transactional: false
-- The running totals of payments that failed and of fulfillments that ended before these were kept, merchant by merchant.
ALTER TABLE running_series VALIDATE CONSTRAINT running_series_measure_check;
CREATE OR REPLACE PROCEDURE running_totals_rebuild_more()
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_merchant uuid;
BEGIN
    FOR v_merchant IN SELECT id FROM merchants ORDER BY id LOOP
        PERFORM running_totals_rebuild(v_merchant, ARRAY['failed', 'fulfilled', 'delivered']);
        COMMIT;
    END LOOP;
END $$;
CALL running_totals_rebuild_more();
DROP PROCEDURE running_totals_rebuild_more();
