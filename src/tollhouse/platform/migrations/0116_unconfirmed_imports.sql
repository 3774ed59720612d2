-- A file with a statement that has no balances waits until operators have confirmed it: it is kept, and others are imported.

ALTER TABLE bank_imports
    ADD COLUMN on_command_line boolean NOT NULL DEFAULT true,  -- uploaded there or by a folder: no approval of an operator
    ADD COLUMN confirmed_at timestamptz,
    DROP CONSTRAINT bank_imports_status_check,
    ADD CONSTRAINT bank_imports_status_check
        CHECK (status IN ('uploaded', 'unconfirmed', 'importing', 'imported', 'refused', 'stopped')),
    DROP CONSTRAINT bank_imports_because,
    ADD CONSTRAINT bank_imports_because CHECK ((because IS NULL) = (status NOT IN ('unconfirmed', 'refused', 'stopped')));
INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('bank_imports', 'uploaded', 'unconfirmed'), ('bank_imports', 'unconfirmed', 'uploaded');

CREATE FUNCTION bank_imports_require_operators() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.confirmed_at IS NULL OR NOT operator_approvals_suffice('statements', NEW.id) THEN
        RAISE EXCEPTION 'two operators confirm a file with a statement that has no balances'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_imports_two_operators';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER confirmed_by_operators BEFORE UPDATE OF status, confirmed_at ON bank_imports
    FOR EACH ROW WHEN ((OLD.status = 'unconfirmed' AND NEW.status = 'uploaded')
                       OR (OLD.confirmed_at IS NULL AND NEW.confirmed_at IS NOT NULL))
    EXECUTE FUNCTION bank_imports_require_operators();
