-- The payments that wait for a decision of the merchant, which the home page counts. There are few at a time.
CREATE INDEX transactions_to_decide ON transactions (merchant_id, mode) WHERE status = 'refund_required';
