-- Locks both tables for a moment, in the order of payments, which lock the link first.
LOCK TABLE payment_links, transactions IN ACCESS EXCLUSIVE MODE;
ALTER TABLE transactions DROP CONSTRAINT transactions_merchant_id_mode_payment_link_id_fkey;
ALTER TABLE payment_links
    DROP CONSTRAINT payment_links_pkey,
    DROP CONSTRAINT payment_links_merchant_id_mode_id_key,
    ADD CONSTRAINT payment_links_pkey PRIMARY KEY USING INDEX payment_links_key;
ALTER TABLE transactions ADD CONSTRAINT transactions_merchant_id_mode_payment_link_id_fkey
    FOREIGN KEY (merchant_id, mode, payment_link_id) REFERENCES payment_links (merchant_id, mode, id) NOT VALID;
