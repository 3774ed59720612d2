-- transactional: false
-- Reads all payments while others write. New ones are verified since the migration before.
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_merchant_id_mode_payment_link_id_fkey;
