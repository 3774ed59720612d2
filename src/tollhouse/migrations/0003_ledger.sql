-- The double-entry ledger. Postings are debit/credit pairs in one currency and one environment; merchants' accounts are
-- guarded rows that cannot fall below zero; platform accounts have no row to update. Nothing posted is ever changed.

CREATE TABLE ledger_accounts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL CHECK (currency ~ '^[A-Z0-9]{2,12}$'),
    merchant_id uuid REFERENCES merchants,  -- null: the platform's own
    code text NOT NULL,
    normal_side text NOT NULL CHECK (normal_side IN ('debit', 'credit')),
    guarded boolean NOT NULL,
    balance bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 0,
    updated_at timestamptz,
    UNIQUE NULLS NOT DISTINCT (merchant_id, mode, currency, code),
    UNIQUE (id, currency, mode),
    CONSTRAINT ledger_accounts_owner CHECK (guarded = (merchant_id IS NOT NULL)),
    CONSTRAINT ledger_accounts_floor CHECK (NOT guarded OR balance >= 0),
    CONSTRAINT ledger_accounts_platform CHECK (guarded OR (balance = 0 AND version = 0))
) WITH (fillfactor = 70);

CREATE TABLE ledger_transactions (
    id uuid PRIMARY KEY,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    kind text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    step int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    CONSTRAINT ledger_transactions_once UNIQUE (source_type, source_id, kind, step)  -- a transition posts once, ever
);

CREATE TABLE ledger_postings (
    transaction_id uuid NOT NULL REFERENCES ledger_transactions,
    line smallint NOT NULL,
    type text NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    debit_account_id bigint NOT NULL,
    credit_account_id bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
    PRIMARY KEY (transaction_id, line),
    CHECK (debit_account_id <> credit_account_id),
    FOREIGN KEY (debit_account_id, currency, mode) REFERENCES ledger_accounts (id, currency, mode),
    FOREIGN KEY (credit_account_id, currency, mode) REFERENCES ledger_accounts (id, currency, mode)
);
CREATE INDEX ledger_postings_debit ON ledger_postings (debit_account_id);
CREATE INDEX ledger_postings_credit ON ledger_postings (credit_account_id);

-- What a merchant sees: one entry for each touch of a guarded account, numbered without gaps per account.
CREATE TABLE ledger_entries (
    account_id bigint NOT NULL,
    version bigint NOT NULL,
    id uuid NOT NULL UNIQUE,
    merchant_id uuid NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    account text NOT NULL,
    type text NOT NULL,
    transaction_id uuid NOT NULL,
    line smallint NOT NULL,
    delta bigint NOT NULL CHECK (delta <> 0),
    balance_after bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, version),
    FOREIGN KEY (transaction_id, line) REFERENCES ledger_postings
);
CREATE INDEX ledger_entries_of_merchant ON ledger_entries (merchant_id, mode, created_at DESC, id DESC);

-- Money set aside. Resolving one is a conditional update first, then the posting.
CREATE TABLE ledger_holds (
    id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    captured bigint NOT NULL DEFAULT 0 CHECK (captured >= 0),
    released bigint NOT NULL DEFAULT 0 CHECK (released >= 0),
    status text NOT NULL CHECK (status IN ('active', 'resolved')),
    created_at timestamptz NOT NULL,
    resolved_at timestamptz,
    CHECK (captured + released <= amount),
    CHECK ((status = 'resolved') = (captured + released = amount)),
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL)),
    UNIQUE (source_type, source_id)
);
CREATE INDEX ledger_holds_active ON ledger_holds (merchant_id, mode, currency) WHERE status = 'active';

CREATE FUNCTION ledger_normal_side(p_code text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_code IN ('available', 'pending', 'reserved', 'fx') THEN 'credit'
        WHEN p_code = 'debt' THEN 'debit'
        WHEN split_part(p_code, ':', 1) IN ('rail', 'expense') THEN 'debit'
        WHEN split_part(p_code, ':', 1) IN ('unapplied', 'income', 'payable', 'equity') THEN 'credit'
    END
$$;

-- Post one transaction of several debit/credit lines, in one round trip. A null merchant is the platform.
-- Merchants' rows are locked in the order of their ids and judged on the end state, not line by line.
CREATE FUNCTION ledger_post(
    p_id uuid, p_mode text, p_kind text, p_source_type text, p_source_id uuid, p_step int, p_at timestamptz,
    p_types text[], p_currencies text[], p_amounts bigint[],
    p_debit_merchants uuid[], p_debit_codes text[], p_credit_merchants uuid[], p_credit_codes text[], p_entry_ids uuid[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    VALUES (p_id, p_mode, p_kind, p_source_type, p_source_id, p_step, p_at);

    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
    SELECT DISTINCT p_mode, w.currency, w.merchant_id, w.code, ledger_normal_side(w.code), w.merchant_id IS NOT NULL
    FROM (SELECT * FROM unnest(p_currencies, p_debit_merchants, p_debit_codes) AS d (currency, merchant_id, code)
          UNION SELECT * FROM unnest(p_currencies, p_credit_merchants, p_credit_codes) AS c (currency, merchant_id, code)) w
    WHERE NOT EXISTS (SELECT FROM ledger_accounts a WHERE a.merchant_id IS NOT DISTINCT FROM w.merchant_id
                      AND a.mode = p_mode AND a.currency = w.currency AND a.code = w.code)
    ORDER BY 3, 2, 4
    ON CONFLICT DO NOTHING;

    PERFORM FROM ledger_accounts a
    WHERE a.guarded AND a.mode = p_mode AND (a.merchant_id, a.currency, a.code) IN (
        SELECT * FROM unnest(p_debit_merchants, p_currencies, p_debit_codes)
        UNION SELECT * FROM unnest(p_credit_merchants, p_currencies, p_credit_codes))
    ORDER BY a.id FOR NO KEY UPDATE;

    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_id, l.line, l.type, p_mode, l.currency, d.id, c.id, l.amount
    FROM unnest(p_types, p_currencies, p_amounts, p_debit_merchants, p_debit_codes, p_credit_merchants, p_credit_codes)
         WITH ORDINALITY AS l (type, currency, amount, debit_merchant, debit_code, credit_merchant, credit_code, line)
    JOIN ledger_accounts d ON d.merchant_id IS NOT DISTINCT FROM l.debit_merchant
         AND d.mode = p_mode AND d.currency = l.currency AND d.code = l.debit_code
    JOIN ledger_accounts c ON c.merchant_id IS NOT DISTINCT FROM l.credit_merchant
         AND c.mode = p_mode AND c.currency = l.currency AND c.code = l.credit_code;

    WITH touches AS (
        SELECT a.id AS account_id, a.merchant_id, a.currency, a.code, a.balance, a.version, p.type, p.line, s.side,
               CASE WHEN s.side = a.normal_side THEN p.amount ELSE -p.amount END AS delta
        FROM ledger_postings p
        CROSS JOIN LATERAL (VALUES (p.debit_account_id, 'debit'), (p.credit_account_id, 'credit')) s (account_id, side)
        JOIN ledger_accounts a ON a.id = s.account_id AND a.guarded
        WHERE p.transaction_id = p_id
    ), running AS (
        SELECT t.*, row_number() OVER w AS nth, sum(t.delta) OVER w AS so_far,
               row_number() OVER (ORDER BY t.line, t.side) AS any_nth
        FROM touches t WINDOW w AS (PARTITION BY t.account_id ORDER BY t.line, t.side)
    ), written AS (
        INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id,
                                    line, delta, balance_after, created_at)
        SELECT r.account_id, r.version + r.nth, p_entry_ids[r.any_nth], r.merchant_id, p_mode, r.currency, r.code, r.type,
               p_id, r.line, r.delta, r.balance + r.so_far, p_at
        FROM running r
    )
    UPDATE ledger_accounts a SET balance = a.balance + n.delta, version = a.version + n.touches, updated_at = p_at
    FROM (SELECT account_id, sum(delta) AS delta, count(*) AS touches FROM touches GROUP BY account_id) n
    WHERE a.id = n.account_id;
END $$;

CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what is posted is never changed: % on %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_transactions FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_postings FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_transactions FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_postings FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON ledger_accounts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_accounts FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
