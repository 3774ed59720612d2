-- Statement files are imported in the background: stored, read and checked as a whole, then imported entry by entry.
CREATE TABLE bank_imports (
    id uuid PRIMARY KEY,  -- in the order in which they are imported, one at a time
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    status text NOT NULL DEFAULT 'uploaded' CHECK (status IN ('uploaded', 'importing', 'imported', 'refused', 'stopped')),
    because text,  -- why it was refused, or why it stopped after some of its entries were imported: template and values
    entries int NOT NULL DEFAULT 0,  -- in the file
    statement int NOT NULL DEFAULT 0,  -- the position of the statement that is being imported
    statement_id uuid REFERENCES bank_statements,  -- set once its import has begun
    next_entry bigint NOT NULL DEFAULT 0,  -- its entries before this place are done
    statements int NOT NULL DEFAULT 0,  -- results so far, from here on
    new_entries int NOT NULL DEFAULT 0,
    known_entries int NOT NULL DEFAULT 0,
    matched int NOT NULL DEFAULT 0,
    unmatched int NOT NULL DEFAULT 0,
    uploaded_by text NOT NULL,
    uploaded_at timestamptz NOT NULL,
    ended_at timestamptz,
    CONSTRAINT bank_imports_ended CHECK ((ended_at IS NULL) = (status IN ('uploaded', 'importing'))),
    CONSTRAINT bank_imports_because CHECK ((because IS NULL) = (status NOT IN ('refused', 'stopped')))
);
CREATE INDEX bank_imports_active ON bank_imports (id) WHERE ended_at IS NULL;

-- The contents of files. They are deleted when the import has ended.
CREATE TABLE bank_import_pieces (
    import_id uuid NOT NULL REFERENCES bank_imports,
    nth int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (import_id, nth)
);
CREATE TABLE bank_import_statements (
    import_id uuid NOT NULL REFERENCES bank_imports,
    position int NOT NULL,  -- in the order of import
    number int NOT NULL,  -- in the file
    iban text NOT NULL,
    currency text,
    name text NOT NULL,  -- the bank's ID
    content bytea NOT NULL,  -- MessagePack: what the statement says, with what its entries do to the balance
    PRIMARY KEY (import_id, position)
);
CREATE TABLE bank_import_entries (
    import_id uuid NOT NULL REFERENCES bank_imports,
    statement int NOT NULL,  -- the number of the statement in the file
    place bigint NOT NULL,  -- in the order of import: what undoes an earlier transfer comes last
    content bytea NOT NULL,  -- MessagePack
    PRIMARY KEY (import_id, statement, place)
);

INSERT INTO state_transitions (record, from_status, to_status)
SELECT 'bank_imports', before, after
FROM (VALUES ('uploaded', 'importing'), ('uploaded', 'refused'), ('importing', 'imported'), ('importing', 'refused'),
             ('importing', 'stopped')) AS allowed (before, after);
CREATE TRIGGER bank_imports_transition BEFORE UPDATE OF status ON bank_imports FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION state_transitions_enforce();
