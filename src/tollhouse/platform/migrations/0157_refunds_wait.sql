-- After a change of an address, refunds to new destinations wait like withdrawals: nothing of either is released. And whether a
-- destination waits is known before there is a transfer to it. Who changed the address and is removed from the team after that
-- counts, too: otherwise whoever removes the person ends the wait.
CREATE OR REPLACE FUNCTION address_changes_counting(
    p_merchant uuid, p_mode text, p_asked_at timestamptz, p_now timestamptz
) RETURNS TABLE (since timestamptz, until timestamptz, undone_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT c.requested_at, CASE WHEN c.undone_at IS NULL THEN c.undo_until ELSE 'infinity' END, c.undone_at
    FROM members m JOIN address_changes c ON c.user_id = m.user_id
    WHERE m.merchant_id = p_merchant AND coalesce(m.removed_at >= c.requested_at, true)
      AND CASE WHEN c.undone_at IS NULL THEN c.undo_until > time_of_environment(p_merchant, p_mode, p_now)
               ELSE c.requested_at <= p_asked_at END
$$;
CREATE FUNCTION destinations_wait_until(
    p_merchant uuid, p_mode text, p_rail text, p_receiver text, p_asked_at timestamptz, p_now timestamptz
) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT max(c.until)
    FROM address_changes_counting(p_merchant, p_mode, p_asked_at, p_now) c
    WHERE (c.undone_at IS NULL OR p_asked_at <= c.undone_at OR EXISTS (
          SELECT FROM withdrawal_recipients r
          WHERE (r.merchant_id, r.mode, r.rail, r.account) = (p_merchant, p_mode, p_rail, p_receiver)
            AND r.created_at BETWEEN c.since AND c.undone_at))
      AND NOT EXISTS (
          SELECT FROM outgoing_transfers o
          WHERE (o.merchant_id, o.mode, o.rail, o.receiver) = (p_merchant, p_mode, p_rail, p_receiver)
            AND o.released_at < c.since)
      AND NOT EXISTS (
          SELECT FROM withdrawal_recipients r
          WHERE (r.merchant_id, r.mode, r.rail, r.account) = (p_merchant, p_mode, p_rail, p_receiver)
            AND r.created_at < c.since)
$$;
CREATE OR REPLACE FUNCTION outgoing_transfers_wait_until(p_transfer outgoing_transfers, p_now timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT destinations_wait_until(p_transfer.merchant_id, p_transfer.mode, p_transfer.rail, p_transfer.receiver,
                                   p_transfer.created_at, p_now)
    WHERE p_transfer.receiver IS DISTINCT FROM p_transfer.payer_account
$$;
DROP TRIGGER outgoing_transfers_wait ON outgoing_transfers;
CREATE TRIGGER outgoing_transfers_wait AFTER UPDATE OF released_at ON outgoing_transfers FOR EACH ROW
    WHEN (OLD.released_at IS NULL AND NEW.released_at IS NOT NULL)
    EXECUTE FUNCTION outgoing_transfers_wait();
