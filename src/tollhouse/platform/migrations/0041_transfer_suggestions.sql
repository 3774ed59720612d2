-- transactional: false
-- Unpaid attempts by amount, and earlier payers: for suggestions beside an unmatched transfer.
DROP INDEX CONCURRENTLY IF EXISTS transactions_unpaid_by_amount;
CREATE INDEX CONCURRENTLY transactions_unpaid_by_amount ON transactions (rail, currency, amount_minor, created_at DESC)
    WHERE mode = 'live' AND status IN ('pending', 'expired');
DROP INDEX CONCURRENTLY IF EXISTS rail_observations_of_account;
CREATE INDEX CONCURRENTLY rail_observations_of_account ON rail_observations (payer_account)
    WHERE mode = 'live' AND payer_account IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS rail_observations_of_name;
CREATE INDEX CONCURRENTLY rail_observations_of_name ON rail_observations (lower(payer_name))
    WHERE mode = 'live' AND payer_name IS NOT NULL;
