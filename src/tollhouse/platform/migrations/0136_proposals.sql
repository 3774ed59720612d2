-- Proposals: operations that a connection or an API key proposes and the merchant approves. Each runs at most once.

CREATE TABLE proposals (
    id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    grant_id uuid,
    api_key_id uuid,
    operation text NOT NULL
        CHECK (operation IN ('withdrawals', 'refunds', 'balance_payments', 'conversions', 'fulfillments')),
    body jsonb NOT NULL,
    amount_minor bigint CHECK (amount_minor > 0),
    currency text NOT NULL,
    status text NOT NULL DEFAULT 'waiting'
        CHECK (status IN ('waiting', 'approved', 'rejected', 'canceled', 'expired', 'failed')),
    result_id uuid,
    error jsonb,
    decided_by uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (id, merchant_id),
    CONSTRAINT proposals_proposer CHECK (num_nonnulls(grant_id, api_key_id) = 1),
    CONSTRAINT proposals_span CHECK (expires_at > created_at),
    CONSTRAINT proposals_ended CHECK ((status = 'waiting') = (ended_at IS NULL)),
    CONSTRAINT proposals_result CHECK ((status = 'approved') = (result_id IS NOT NULL)),
    CONSTRAINT proposals_error CHECK ((status = 'failed') = (error IS NOT NULL)),
    CONSTRAINT proposals_decided CHECK ((status IN ('approved', 'rejected', 'failed')) = (decided_by IS NOT NULL))
);
COMMENT ON COLUMN proposals.amount_minor IS 'null: all that is left of a payment';
COMMENT ON COLUMN proposals.result_id IS 'the object that the operation created';
CREATE INDEX proposals_of_merchant ON proposals (merchant_id, mode, created_at DESC, id DESC);
CREATE INDEX proposals_of_grant ON proposals (grant_id, created_at DESC, id DESC) WHERE grant_id IS NOT NULL;
CREATE INDEX proposals_of_api_key ON proposals (api_key_id, created_at DESC, id DESC) WHERE api_key_id IS NOT NULL;
CREATE INDEX proposals_waiting ON proposals (merchant_id, mode, expires_at) WHERE status = 'waiting';
CREATE UNIQUE INDEX proposals_by_result ON proposals (result_id, merchant_id) WHERE result_id IS NOT NULL;

INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('proposals', 'waiting', 'approved'), ('proposals', 'waiting', 'rejected'), ('proposals', 'waiting', 'canceled'),
    ('proposals', 'waiting', 'expired'), ('proposals', 'waiting', 'failed');
CREATE TRIGGER proposals_transition BEFORE UPDATE OF status ON proposals
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION state_transitions_enforce();

-- The scopes that a proposer has at this time; null once its connection or key has ended or is suspended.
CREATE FUNCTION proposals_scopes(p_grant uuid, p_api_key uuid, p_at timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_grant IS NULL
        THEN (SELECT k.scope_mask FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
              WHERE k.id = p_api_key AND k.revoked_at IS NULL AND m.suspended_at IS NULL)
        ELSE (SELECT g.scope_mask & c.scope_mask
              FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id JOIN merchants m ON m.id = g.merchant_id
              LEFT JOIN merchants o ON o.id = c.merchant_id
              WHERE g.id = p_grant AND g.revoked_at IS NULL AND g.expires_at > p_at AND g.grant_epoch = c.grant_epoch
                AND c.status = 'enabled' AND c.suspended_at IS NULL AND o.suspended_at IS NULL AND m.suspended_at IS NULL)
        END
$$;
-- The bit of the scope that each operation needs.
CREATE FUNCTION proposals_scope_bit(p_operation text) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT 1 << bit FROM scope_bits WHERE scope = CASE p_operation
        WHEN 'refunds' THEN 'payments:write' ELSE replace(p_operation, '_', '-') || ':write' END
$$;
-- A proposal expires, and is canceled with its connection or key, whether or not a job has stored it.
CREATE FUNCTION proposals_status_at(p proposals, p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p.status <> 'waiting' THEN p.status
        WHEN p.expires_at <= p_at THEN 'expired'
        WHEN coalesce(proposals_scopes(p.grant_id, p.api_key_id, p_at), 0) & proposals_scope_bit(p.operation) = 0 THEN 'canceled'
        ELSE 'waiting' END
$$;

CREATE FUNCTION proposals_proposer_name(p proposals) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT k.name FROM api_keys k WHERE k.id = p.api_key_id),
                    (SELECT c.name FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id WHERE g.id = p.grant_id))
$$;
CREATE FUNCTION proposals_decider(p proposals) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT u.email FROM users u WHERE u.id = p.decided_by
$$;

-- A proposal is made by a connection or key of its merchant and mode that may do it, and waits.
CREATE FUNCTION proposals_require_proposer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM oauth_grants g WHERE (g.id, g.merchant_id, g.mode) = (NEW.grant_id, NEW.merchant_id, NEW.mode)
        UNION ALL
        SELECT FROM api_keys k WHERE (k.id, k.merchant_id, k.mode) = (NEW.api_key_id, NEW.merchant_id, NEW.mode)
    ) OR proposals_status_at(NEW, NEW.created_at) <> 'waiting' THEN
        RAISE EXCEPTION 'a connection or key of the merchant proposes what it may do' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER proposed_by_own BEFORE INSERT ON proposals FOR EACH ROW EXECUTE FUNCTION proposals_require_proposer();

-- What was proposed never changes, and nothing is approved that has expired or whose connection or key has ended.
CREATE FUNCTION proposals_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.merchant_id, NEW.mode, NEW.operation, NEW.body, NEW.currency, NEW.created_at, NEW.expires_at)
        IS DISTINCT FROM
       (OLD.id, OLD.merchant_id, OLD.mode, OLD.operation, OLD.body, OLD.currency, OLD.created_at, OLD.expires_at)
       OR (NEW.grant_id, NEW.api_key_id, NEW.amount_minor) IS DISTINCT FROM (OLD.grant_id, OLD.api_key_id, OLD.amount_minor)
       OR OLD.status <> 'waiting' THEN
        RAISE EXCEPTION 'a proposal is decided once, as it was proposed' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'approved' AND proposals_status_at(OLD, NEW.ended_at) <> 'waiting' THEN
        RAISE EXCEPTION 'the proposal has ended' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER decided_once BEFORE UPDATE ON proposals FOR EACH ROW EXECUTE FUNCTION proposals_enforce();

-- A suspension can be undone; what it cancels stays canceled.
CREATE FUNCTION proposals_cancel_of_merchant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE proposals p SET status = 'canceled', ended_at = NEW.suspended_at
    WHERE p.status = 'waiting' AND (p.merchant_id = NEW.id OR p.grant_id IN (
        SELECT g.id FROM oauth_clients c JOIN oauth_grants g ON g.client_id = c.id WHERE c.merchant_id = NEW.id));
    RETURN NULL;
END $$;
CREATE TRIGGER suspension_cancels_proposals AFTER UPDATE OF suspended_at ON merchants
    FOR EACH ROW WHEN (OLD.suspended_at IS NULL AND NEW.suspended_at IS NOT NULL)
    EXECUTE FUNCTION proposals_cancel_of_merchant();
CREATE FUNCTION proposals_cancel_of_client() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE proposals p SET status = 'canceled', ended_at = NEW.suspended_at
    FROM oauth_grants g WHERE p.status = 'waiting' AND g.id = p.grant_id AND g.client_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER suspension_cancels_proposals AFTER UPDATE OF suspended_at ON oauth_clients
    FOR EACH ROW WHEN (OLD.suspended_at IS NULL AND NEW.suspended_at IS NOT NULL)
    EXECUTE FUNCTION proposals_cancel_of_client();

-- What only proposes spends nothing by itself. An approved proposal is the merchant's own, and has no credential.
CREATE FUNCTION proposals_require_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM oauth_grants g WHERE g.id = NEW.credential_id AND g.proposals_only)
       OR EXISTS (SELECT FROM api_keys k WHERE k.id = NEW.credential_id AND k.proposals_only) THEN
        RAISE EXCEPTION 'this connection or key may only propose'
            USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'proposals_approved';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER proposals_approved AFTER INSERT ON withdrawals FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON refunds FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON balance_payments FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON conversions FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION proposals_require_approval();
CREATE TRIGGER proposals_approved AFTER INSERT ON fulfillments FOR EACH ROW WHEN (NEW.credential_id IS NOT NULL)
    EXECUTE FUNCTION proposals_require_approval();

-- Emails about proposals, beside every other kind that there is.
DO $$
DECLARE
    v_kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
                     WHERE conrelid = 'mails'::regclass AND conname = 'mails_about_check');
BEGIN
    ALTER TABLE mails DROP CONSTRAINT mails_about_check;
    EXECUTE format('ALTER TABLE mails ADD CONSTRAINT mails_about_check CHECK (%s)',
                   replace(v_kinds, 'ARRAY[', 'ARRAY[''proposal_waiting''::text, '));
END $$;
