-- A merchant that was erased is closed: it stays suspended, so that nobody can sign in, pay or call, and its books stay.
ALTER TABLE merchants
    ADD COLUMN closed_at timestamptz,
    ADD CONSTRAINT merchants_closed CHECK (closed_at IS NULL OR suspended_at IS NOT NULL);
CREATE TRIGGER stays_closed BEFORE UPDATE ON merchants FOR EACH ROW
    WHEN (OLD.closed_at IS NOT NULL AND (NEW.closed_at IS DISTINCT FROM OLD.closed_at OR NEW.suspended_at IS NULL))
    EXECUTE FUNCTION ledger_refuse_change();
