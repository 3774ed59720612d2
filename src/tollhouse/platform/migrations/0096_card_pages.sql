-- The rail and reference of a card payment are those of its transaction. When an event happened is not used.
ALTER TABLE card_payments DROP COLUMN rail, DROP COLUMN reference;
ALTER TABLE provider_events DROP COLUMN occurred_at;

-- A link that was canceled, has all its payments, or expires at another time: the open pages of its payments are looked at now.
-- A link for one payment has no other page when it is paid, so that the trigger costs its payments nothing.
CREATE FUNCTION card_payments_look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE card_payments c SET next_poll_at = NEW.updated_at
    FROM transactions t
    WHERE (t.merchant_id, t.mode, t.payment_link_id) = (NEW.merchant_id, NEW.mode, NEW.id)
      AND (c.merchant_id, c.mode, c.transaction_id) = (t.merchant_id, t.mode, t.id) AND c.next_poll_at > NEW.updated_at;
    RETURN NULL;
END $$;
CREATE TRIGGER pages_looked_at AFTER UPDATE ON payment_links FOR EACH ROW
    WHEN (NEW.mode = 'live'
          AND (OLD.expires_at <> NEW.expires_at
               OR (OLD.status = 'active' AND NEW.status <> 'active' AND NEW.max_payments IS DISTINCT FROM 1)
               OR (OLD.status = 'active' AND NEW.status = 'canceled')))
    EXECUTE FUNCTION card_payments_look();
