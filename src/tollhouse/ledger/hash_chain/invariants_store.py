"""SQL of the invariants of the hash chain: each returned row is a breach, as one line of text."""

from tollhouse.platform.database.invariants import Invariant

I25_BLOCKS = """
    SELECT format('block %s does not match its rows', b.number) AS line
    FROM (SELECT c.*, lag(c.hash) OVER (ORDER BY c.number) AS previous FROM hash_chain_blocks AS c) AS b
    WHERE b.hash <> hash_chain_hash(b.previous, b.number, b.created_at, b.ledger_transactions, b.operator_actions)
    ORDER BY b.number
"""
# The first of the eleven says only what the hash before the others is.
I25_LATEST_BLOCKS = """
    SELECT format('block %s does not match its rows', b.number) AS line
    FROM (SELECT c.*, lag(c.hash) OVER (ORDER BY c.number) AS previous
          FROM (SELECT * FROM hash_chain_blocks ORDER BY number DESC LIMIT 11) AS c) AS b
    WHERE (b.number = 1 OR b.previous IS NOT NULL)
      AND b.hash <> hash_chain_hash(b.previous, b.number, b.created_at, b.ledger_transactions, b.operator_actions)
    ORDER BY b.number
"""
I25_NUMBERS = """
    SELECT format('block %s follows block %s', number, before) AS line
    FROM (SELECT number, coalesce(lag(number) OVER (ORDER BY number), 0) AS before FROM hash_chain_blocks) AS b
    WHERE number <> before + 1 ORDER BY number
"""
I25_COVERED = """
    SELECT format('%s %s is in no block', d.kind, d.id) AS line
    FROM (SELECT cluster, visible FROM hash_chain_blocks ORDER BY number DESC LIMIT 1) AS last
    JOIN pg_control_system() AS here ON here.system_identifier = last.cluster
    JOIN row_digests d ON d.kind IN ('ledger', 'operator_action') AND pg_visible_in_snapshot(d.xact, last.visible)
    LEFT JOIN (SELECT unnest(ledger_transactions || operator_actions) AS id FROM hash_chain_blocks) AS covered USING (id)
    WHERE covered.id IS NULL
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I25", "the latest blocks of the hash chain match their rows", I25_LATEST_BLOCKS),
    Invariant("I25", "every block of the hash chain matches its rows", I25_BLOCKS, costly=True),
    Invariant("I25", "no block of the hash chain is missing", I25_NUMBERS, costly=True),
    Invariant("I25", "the hash chain covers the ledger and operators' actions", I25_COVERED, costly=True),
)
