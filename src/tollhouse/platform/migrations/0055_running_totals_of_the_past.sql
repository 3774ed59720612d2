-- transactional: false
-- The running totals of what was posted before there were any, merchant by merchant.
CREATE OR REPLACE PROCEDURE running_totals_rebuild_all()
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_merchant uuid;
BEGIN
    FOR v_merchant IN SELECT id FROM merchants ORDER BY id LOOP
        PERFORM running_totals_rebuild(v_merchant);
        COMMIT;
    END LOOP;
END $$;
CALL running_totals_rebuild_all();
DROP PROCEDURE running_totals_rebuild_all();
