"""Compare what the migrations create with the database: columns, constraints, indexes, triggers, functions, rules."""

from importlib import resources

from tollhouse.platform.database.pool import Tx

RECORD = "schema_objects.tsv"

# A name and a definition for each. Partitions come and go; what they inherit cannot be dropped, only switched off.
OBJECTS = """
    WITH ours AS (
        SELECT c.oid, c.relname, c.relkind FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    )
    SELECT format('column %s.%s', o.relname, a.attname) AS name,
           format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS definition
    FROM ours o JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('constraint %s.%s', o.relname, k.conname), pg_get_constraintdef(k.oid)
    FROM ours o JOIN pg_constraint k ON k.conrelid = o.oid AND k.contype IN ('c', 'f', 'p', 'u', 'x')
    UNION ALL
    SELECT format('trigger %s.%s', o.relname, t.tgname), pg_get_triggerdef(t.oid)
    FROM ours o JOIN pg_trigger t ON t.tgrelid = o.oid AND NOT t.tgisinternal
    UNION ALL
    SELECT format('index %s.%s', o.relname, n.relname), pg_get_indexdef(i.indexrelid)
    FROM ours o JOIN pg_index i ON i.indrelid = o.oid AND i.indisunique
    JOIN pg_class n ON n.oid = i.indexrelid
    WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
    UNION ALL
    SELECT format('function %s(%s)', p.proname, pg_get_function_identity_arguments(p.oid)),
           encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex')
    FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('transitions %s.%s', record, from_status), string_agg(to_status, ' ' ORDER BY to_status COLLATE "C")
    FROM state_transitions GROUP BY record, from_status
    UNION ALL
    SELECT format('release %s', source_type), released_by FROM ledger_release_kinds
    UNION ALL
    SELECT format('action %s', action), format('of_merchant %s, needs_reason %s', of_merchant, needs_reason)
    FROM operator_action_kinds
    UNION ALL
    SELECT format('email %s', about), 'may be sent' FROM mail_kinds
    ORDER BY 1
"""
# Includes partitions and the triggers of foreign keys.
SWITCHED_OFF = """
    SELECT format('trigger %s.%s is switched off', c.relname, t.tgname) AS line
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND t.tgenabled NOT IN ('O', 'A')
"""
MAJOR = "SELECT current_setting('server_version_num')::int / 10000"
WRITTEN_BY_SERVER = ("constraint", "trigger", "index")
"""Definitions as the server prints them, which may differ in another version."""

NEVER_ADDED = ("trigger", "transitions", "release", "action", "email")
"""Others may be added, such as an index of the operator's."""


async def record(tx: Tx) -> str:
    """The objects of a freshly migrated database, in the format of the recorded file."""
    found = await _objects(tx)
    return f"# {await tx.fetchval(MAJOR)}\n" + "".join(f"{name}\t{definition}\n" for name, definition in found.items())


async def damage(tx: Tx) -> list[str]:
    """A line for each missing or different object, each extra trigger or rule, and each disabled trigger."""
    text = resources.files("tollhouse.instance.checks").joinpath(RECORD).read_text("utf-8")
    head, *lines = text.splitlines()
    made = dict(line.split("\t", 1) for line in lines)
    same_words = head == f"# {await tx.fetchval(MAJOR)}"
    found = await _objects(tx)
    damaged = [f"{name} is missing" for name in made if name not in found]
    damaged += [
        f"{name} was changed"
        for name, definition in made.items()
        if found.get(name, definition) != definition and (same_words or not name.startswith(WRITTEN_BY_SERVER))
    ]
    damaged += [f"{name} is not ours" for name in found if name.startswith(NEVER_ADDED) and name not in made]
    return damaged + [row["line"] for row in await tx.fetch(SWITCHED_OFF)]


async def _objects(tx: Tx) -> dict[str, str]:
    return {row["name"]: " ".join(row["definition"].split()) for row in await tx.fetch(OBJECTS)}
