-- What was done to a merchant's account, by whom and from where. A line is written by the transaction that does the deed.

CREATE TABLE audit_lines (
    merchant_id uuid NOT NULL REFERENCES merchants,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    mode text CHECK (mode IN ('live', 'test')),  -- null: the deed is of no environment, such as signing in
    deed text NOT NULL CHECK (deed ~ '^[a-z_]+\.[a-z_]+$'),
    author_kind text NOT NULL CHECK (author_kind IN ('person', 'api_key', 'application', 'operator', 'system')),
    author text NOT NULL,  -- the user's, key's or application's id
    address text,
    request_id uuid,
    subject text,  -- the id of what it was done to
    name text,  -- what that was called then
    changed json CHECK (json_typeof(changed) = 'object'),  -- each name with what it was before and after, in this order
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT audit_lines_author CHECK ((author = '') = (author_kind IN ('operator', 'system')))
);
CREATE INDEX audit_lines_newest ON audit_lines (merchant_id, created_at DESC, id DESC);
-- Lines come in the order of time, so that this one costs next to nothing; it finds what has been kept long enough.
CREATE INDEX audit_lines_age ON audit_lines USING brin (created_at) WITH (pages_per_range = 16);

-- Nothing rewrites a line, and nothing deletes one that is not a year old.
CREATE TRIGGER never_changed BEFORE UPDATE ON audit_lines FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER kept_a_year BEFORE DELETE ON audit_lines FOR EACH ROW WHEN (OLD.created_at > now() - interval '365 days')
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_lines FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
