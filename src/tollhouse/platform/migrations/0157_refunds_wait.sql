-- After a change of an address, refunds to new destinations wait like withdrawals: nothing of either is released.
DROP TRIGGER outgoing_transfers_wait ON outgoing_transfers;
CREATE TRIGGER outgoing_transfers_wait AFTER UPDATE OF released_at ON outgoing_transfers FOR EACH ROW
    WHEN (OLD.released_at IS NULL AND NEW.released_at IS NOT NULL)
    EXECUTE FUNCTION outgoing_transfers_wait();
