-- transactional: false
-- Payments are found by the beginning of the payer's name or account.
DROP INDEX CONCURRENTLY IF EXISTS rail_observations_of_payer_name;
CREATE INDEX CONCURRENTLY rail_observations_of_payer_name
    ON rail_observations (merchant_id, mode, lower(payer_name) text_pattern_ops) WHERE payer_name IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS rail_observations_of_payer_account;
CREATE INDEX CONCURRENTLY rail_observations_of_payer_account
    ON rail_observations (merchant_id, mode, payer_account text_pattern_ops) WHERE payer_account IS NOT NULL;
