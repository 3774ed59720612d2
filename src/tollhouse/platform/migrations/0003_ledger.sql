-- The double-entry ledger. Postings are debit/credit pairs in one currency and one environment; merchants' accounts are
-- guarded rows that cannot fall below zero; platform accounts have no row to update. Nothing posted is ever changed.

-- The chart of accounts: the side on which each grows. Null: there is no such account.
CREATE FUNCTION ledger_normal_side(p_merchants boolean, p_code text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN p_merchants THEN
            CASE WHEN p_code IN ('available', 'pending', 'reserved') THEN 'credit' WHEN p_code = 'debt' THEN 'debit' END
        WHEN p_code = 'fx' OR p_code ~ '^(unapplied|income|payable|equity):[a-z0-9_]+$' THEN 'credit'
        WHEN p_code ~ '^(rail|expense):[a-z0-9_]+$' THEN 'debit'
    END
$$;

CREATE TABLE ledger_accounts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL CHECK (currency ~ '^[A-Z0-9]{2,12}$'),
    merchant_id uuid REFERENCES merchants,  -- null: the platform's own
    -- The same without a null, so that every look-up is by plain equality and finds the index.
    owner uuid NOT NULL GENERATED ALWAYS AS (coalesce(merchant_id, '00000000-0000-0000-0000-000000000000')) STORED,
    code text NOT NULL,
    normal_side text NOT NULL,
    guarded boolean NOT NULL,
    balance bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 0,
    updated_at timestamptz,
    UNIQUE (owner, mode, currency, code),
    UNIQUE (id, currency, mode),
    CONSTRAINT ledger_accounts_owner CHECK (guarded = (merchant_id IS NOT NULL)),
    CONSTRAINT ledger_accounts_chart
        CHECK ((normal_side = ledger_normal_side(merchant_id IS NOT NULL, code)) IS TRUE),
    CONSTRAINT ledger_accounts_floor CHECK (NOT guarded OR balance >= 0),
    CONSTRAINT ledger_accounts_platform CHECK (guarded OR (balance = 0 AND version = 0))
) WITH (fillfactor = 70);

CREATE TABLE ledger_transactions (
    id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    kind text NOT NULL,
    source_type text NOT NULL,
    source_id uuid NOT NULL,
    step int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (id, mode),  -- with the mode, so that the postings below cannot be in another one
    CONSTRAINT ledger_transactions_once UNIQUE (source_type, source_id, kind, step)  -- a transition posts once, ever
);

CREATE TABLE ledger_postings (
    transaction_id uuid NOT NULL,
    line smallint NOT NULL,
    type text NOT NULL,
    mode text NOT NULL,
    currency text NOT NULL,
    debit_account_id bigint NOT NULL,
    credit_account_id bigint NOT NULL,
    amount bigint NOT NULL CONSTRAINT ledger_postings_amount CHECK (amount BETWEEN 1 AND 9007199254740991),
    PRIMARY KEY (transaction_id, line),
    CONSTRAINT ledger_postings_two_accounts CHECK (debit_account_id <> credit_account_id),
    FOREIGN KEY (transaction_id, mode) REFERENCES ledger_transactions (id, mode),
    FOREIGN KEY (debit_account_id, currency, mode) REFERENCES ledger_accounts (id, currency, mode),
    FOREIGN KEY (credit_account_id, currency, mode) REFERENCES ledger_accounts (id, currency, mode)
);
CREATE INDEX ledger_postings_debit ON ledger_postings (debit_account_id);
CREATE INDEX ledger_postings_credit ON ledger_postings (credit_account_id);

-- What a merchant sees: one entry for each touch of a guarded account, numbered without gaps per account.
-- created_at never runs backwards along the numbers, though the clocks of two requests may cross.
CREATE TABLE ledger_entries (
    account_id bigint NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
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
    FOREIGN KEY (account_id, currency, mode) REFERENCES ledger_accounts (id, currency, mode),
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
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
    captured bigint NOT NULL DEFAULT 0 CHECK (captured >= 0),
    released bigint NOT NULL DEFAULT 0 CHECK (released >= 0),
    moves int NOT NULL DEFAULT 0,  -- captures and releases so far: each is a step of its own in the ledger
    status text NOT NULL CHECK (status IN ('active', 'resolved')),
    created_at timestamptz NOT NULL,
    resolved_at timestamptz,
    CHECK (captured + released <= amount),
    CHECK ((status = 'resolved') = (captured + released = amount)),
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL)),
    CONSTRAINT ledger_holds_once UNIQUE (source_type, source_id)
);
CREATE INDEX ledger_holds_active ON ledger_holds (merchant_id, mode, currency) WHERE status = 'active';

-- The id of an account. A scalar, so that it is always one probe of the unique index and never a join.
CREATE FUNCTION ledger_account_id(p_merchant uuid, p_mode text, p_currency text, p_code text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT id FROM ledger_accounts
    WHERE owner = coalesce(p_merchant, '00000000-0000-0000-0000-000000000000')
      AND mode = p_mode AND currency = p_currency AND code = p_code
$$;

-- Post one transaction of several debit/credit lines, in one round trip; the merchants' entries it made. A null merchant
-- is the platform. Merchants' rows are locked in the order of their ids and judged on the end state, not line by line.
-- The arrays run in parallel, a line at each place; p_entry_ids has four spare ids for each line: two for its own entries,
-- two for those of the debt that it may repay. Whoever owes repays first: a merchant that would end with money available
-- beside a debt in that currency gets one more line, from the one to the other.
CREATE FUNCTION ledger_post(
    p_id uuid, p_mode text, p_kind text, p_source_type text, p_source_id uuid, p_step int, p_at timestamptz,
    p_types text[], p_currencies text[], p_amounts bigint[],
    p_debit_merchants uuid[], p_debit_codes text[], p_credit_merchants uuid[], p_credit_codes text[], p_entry_ids uuid[]
) RETURNS SETOF ledger_entries LANGUAGE plpgsql AS $$
DECLARE
    v_debits bigint[];
    v_credits bigint[];
    v_owing record;
BEGIN
    IF coalesce(cardinality(p_types), 0) = 0 THEN
        RAISE EXCEPTION 'a transaction has at least one line' USING ERRCODE = 'check_violation';
    END IF;

    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    VALUES (p_id, p_mode, p_kind, p_source_type, p_source_id, p_step, p_at);

    -- Accounts are made on first use. Two that make the same one: the second waits here for the first, and finds it below,
    -- because each statement sees what was committed before it. The order keeps two that make several from a deadlock.
    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
    SELECT p_mode, w.currency, w.merchant_id, w.code,
           ledger_normal_side(w.merchant_id IS NOT NULL, w.code), w.merchant_id IS NOT NULL
    FROM (SELECT * FROM unnest(p_currencies, p_debit_merchants, p_debit_codes) AS d (currency, merchant_id, code)
          UNION SELECT * FROM unnest(p_currencies, p_credit_merchants, p_credit_codes) AS c (currency, merchant_id, code)) w
    WHERE ledger_account_id(w.merchant_id, p_mode, w.currency, w.code) IS NULL
    ORDER BY w.merchant_id, w.currency, w.code
    ON CONFLICT DO NOTHING;

    SELECT array_agg(ledger_account_id(l.debit_merchant, p_mode, l.currency, l.debit_code) ORDER BY l.line),
           array_agg(ledger_account_id(l.credit_merchant, p_mode, l.currency, l.credit_code) ORDER BY l.line)
    INTO v_debits, v_credits
    FROM unnest(p_currencies, p_debit_merchants, p_debit_codes, p_credit_merchants, p_credit_codes)
         WITH ORDINALITY AS l (currency, debit_merchant, debit_code, credit_merchant, credit_code, line);

    PERFORM FROM ledger_accounts a
    WHERE a.id = ANY (v_debits || v_credits) AND a.guarded
    ORDER BY a.id FOR NO KEY UPDATE;

    -- Looked for only now: a debt is made and repaid under the lock of the available balance beside it.
    FOR v_owing IN
        SELECT a.id AS available_id, d.id AS debt_id, a.currency,
               least(d.balance, a.balance + (
                   SELECT sum(CASE a.id WHEN l.credit_id THEN l.amount WHEN l.debit_id THEN -l.amount ELSE 0 END)
                   FROM unnest(p_amounts, v_debits, v_credits) AS l (amount, debit_id, credit_id)))::bigint AS repaid
        FROM ledger_accounts a
        JOIN ledger_accounts d ON (d.owner, d.mode, d.currency, d.code) = (a.owner, a.mode, a.currency, 'debt')
        WHERE a.id = ANY (v_credits) AND a.guarded AND a.code = 'available' AND d.balance > 0
        ORDER BY d.id FOR NO KEY UPDATE OF d
    LOOP
        IF v_owing.repaid > 0 THEN
            p_types := p_types || 'settlement'::text;
            p_currencies := p_currencies || v_owing.currency;
            p_amounts := p_amounts || v_owing.repaid;
            v_debits := v_debits || v_owing.available_id;
            v_credits := v_credits || v_owing.debt_id;
        END IF;
    END LOOP;

    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_id, l.line, l.type, p_mode, l.currency, l.debit_id, l.credit_id, l.amount
    FROM unnest(p_types, p_currencies, p_amounts, v_debits, v_credits)
         WITH ORDINALITY AS l (type, currency, amount, debit_id, credit_id, line);

    RETURN QUERY
    WITH touches AS (
        SELECT a.id AS account_id, a.merchant_id, a.currency, a.code, a.balance, a.version, l.line, s.side,
               -- What is paid out of one merchant's balance is paid in to another's: one line, told to each in its own words.
               CASE WHEN l.type = 'balance_payment_out' AND s.side = 'credit' THEN 'balance_payment_in' ELSE l.type END AS type,
               greatest(p_at, a.updated_at) AS at,
               CASE WHEN s.side = a.normal_side THEN l.amount ELSE -l.amount END AS delta
        FROM unnest(p_types, p_amounts, v_debits, v_credits)
             WITH ORDINALITY AS l (type, amount, debit_id, credit_id, line)
        CROSS JOIN LATERAL (VALUES (l.debit_id, 'debit'), (l.credit_id, 'credit')) s (account_id, side)
        JOIN ledger_accounts a ON a.id = s.account_id AND a.guarded
    ), running AS (
        SELECT t.*, row_number() OVER w AS nth, sum(t.delta) OVER w AS so_far,
               row_number() OVER (ORDER BY t.line, t.side) AS any_nth
        FROM touches t WINDOW w AS (PARTITION BY t.account_id ORDER BY t.line, t.side)
    ), moved AS (
        UPDATE ledger_accounts a SET balance = a.balance + n.delta, version = a.version + n.touches, updated_at = n.at
        FROM (SELECT t.account_id, t.at, sum(t.delta) AS delta, count(*) AS touches
              FROM touches t GROUP BY t.account_id, t.at) n
        WHERE a.id = n.account_id
    ), written AS (
        INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id,
                                    line, delta, balance_after, created_at)
        SELECT r.account_id, r.version + r.nth, p_entry_ids[r.any_nth], r.merchant_id, p_mode, r.currency, r.code, r.type,
               p_id, r.line, r.delta, r.balance + r.so_far, r.at
        FROM running r ORDER BY r.any_nth
        RETURNING *
    )
    SELECT * FROM written;
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
CREATE TRIGGER never_renamed BEFORE UPDATE OF mode, currency, merchant_id, code, normal_side, guarded ON ledger_accounts
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON ledger_holds FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_holds FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
