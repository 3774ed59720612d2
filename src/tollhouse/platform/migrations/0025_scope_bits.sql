-- Which bit of a stored scope mask is which scope. A scope that is added gets the next bit by a migration of its own, and
-- the same bit in `kernel/scopes.py`; a bit keeps its meaning for ever, also when its scope is given up.

CREATE TABLE scope_bits (
    scope text PRIMARY KEY,
    bit int NOT NULL UNIQUE CHECK (bit BETWEEN 0 AND 30)
);
INSERT INTO scope_bits (scope, bit) VALUES
    ('account:read', 0), ('projects:read', 1), ('payments:read', 2), ('payments:write', 3), ('balances:read', 4),
    ('balance-payments:read', 5), ('balance-payments:write', 6), ('withdrawals:read', 7), ('withdrawals:write', 8),
    ('conversions:read', 9), ('conversions:write', 10), ('fulfillments:read', 11), ('fulfillments:write', 12),
    ('webhooks:read', 13), ('webhooks:write', 14), ('settings:read', 15), ('settings:write', 16), ('reports:read', 17),
    ('offline_access', 18);
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON scope_bits FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON scope_bits FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- An API permission is any bit but that of offline_access, also one above it. The partitions of the tokens have the
-- constraint by themselves.
DO $$
DECLARE
    v_partition regclass;
BEGIN
    ALTER TABLE oauth_access_tokens DROP CONSTRAINT oauth_access_tokens_scope_mask_check;
    FOR v_partition IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'oauth_access_tokens'::regclass LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS oauth_access_tokens_scope_mask_check', v_partition);
    END LOOP;
END $$;
ALTER TABLE oauth_access_tokens
    ADD CONSTRAINT oauth_access_tokens_scope_mask_check CHECK (scope_mask & ~(1 << 18) <> 0);
ALTER TABLE oauth_clients
    DROP CONSTRAINT oauth_clients_scope_mask_check,
    ADD CONSTRAINT oauth_clients_scope_mask_check CHECK (scope_mask & ~(1 << 18) <> 0);
ALTER TABLE oauth_codes
    DROP CONSTRAINT oauth_codes_scope_mask_check,
    ADD CONSTRAINT oauth_codes_scope_mask_check CHECK (scope_mask & ~(1 << 18) <> 0);
ALTER TABLE oauth_requests
    DROP CONSTRAINT oauth_requests_scope_mask_check,
    ADD CONSTRAINT oauth_requests_scope_mask_check CHECK (scope_mask & ~(1 << 18) <> 0);
ALTER TABLE oauth_grants
    DROP CONSTRAINT oauth_grants_check2,
    ADD CONSTRAINT oauth_grants_check2 CHECK (revoked_at IS NOT NULL OR scope_mask & ~(1 << 18) <> 0);
