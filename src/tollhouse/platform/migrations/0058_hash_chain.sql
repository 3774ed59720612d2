-- A hash chain over the digests of ledger transactions and operator actions. Each block covers the rows whose transactions
-- committed since the block before: those that `visible`, its snapshot in `cluster`, sees and the one before did not. After
-- a restore into another cluster, rows may have transaction numbers that this one is still to assign (`has_foreign_rows`):
-- then the next block covers what no block covers.
CREATE TABLE hash_chain_blocks (
    number bigint PRIMARY KEY CHECK (number > 0),
    ledger_transactions uuid[] NOT NULL,
    operator_actions uuid[] NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
    signature bytea NOT NULL CHECK (octet_length(signature) = 64),
    cluster bigint NOT NULL,
    visible pg_snapshot NOT NULL,
    has_foreign_rows boolean NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON hash_chain_blocks FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON hash_chain_blocks FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- SHA-256 of the previous block's hash, number, time, number of rows, and the id and digest of each row.
CREATE FUNCTION hash_chain_hash(p_previous bytea, p_number bigint, p_at timestamptz, p_ledger uuid[], p_actions uuid[])
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(coalesce(p_previous, '') || int8send(p_number) || int8send((extract(epoch FROM p_at) * 1000000)::bigint)
        || int8send(cardinality(p_ledger)) || int8send(cardinality(p_actions))
        || coalesce((SELECT string_agg(uuid_send(r.id) || coalesce(d.digest, ''), '' ORDER BY r.n)
                     FROM unnest(p_ledger) WITH ORDINALITY AS r (id, n)
                     LEFT JOIN row_digests d ON d.kind = 'ledger' AND d.id = r.id), '')
        || coalesce((SELECT string_agg(uuid_send(r.id) || coalesce(d.digest, ''), '' ORDER BY r.n)
                     FROM unnest(p_actions) WITH ORDINALITY AS r (id, n)
                     LEFT JOIN row_digests d ON d.kind = 'operator_action' AND d.id = r.id), ''))
$$;
