-- transactional: false
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_refunded_once;
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_disputed_once;
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_credited_to_succeed;
