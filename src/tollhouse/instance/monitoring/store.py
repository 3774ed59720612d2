"""SQL of the metrics that are read from the database. Each statement costs the same however much history there is.

`$1` is the time. What the ledger's cost does grow with is the number of merchants: half a second for 300,000 accounts, at
most once a minute.
"""

from importlib.metadata import version

from tollhouse.instance.backup.wal_receiver import SLOT
from tollhouse.kernel.limits import WORKER_SILENT_AFTER_S

SERVER = f"""
    SELECT '{version("tollhouse")}' AS version, 1 AS one,
           (SELECT name FROM schema_migrations ORDER BY number DESC LIMIT 1) AS migration
"""
SIZE = "SELECT pg_database_size(current_database()) AS bytes"
# When the first partition begins that does not exist yet, or after the last one looked for.
PARTITIONS = """
    SELECT t.name AS "table", extract(epoch FROM coalesce(
               min(slot.starts_at) FILTER (WHERE to_regclass(t.name || '_' || to_char(slot.starts_at, t.suffix)) IS NULL),
               max(slot.starts_at) + t.step) - $1)::float AS ahead_s
    FROM partitioned_tables t
    CROSS JOIN LATERAL (SELECT partition_start(t.step, $1) + n * t.step AS starts_at FROM generate_series(0, t.ahead) n) slot
    GROUP BY t.name, t.step ORDER BY t.name
"""
INVARIANTS = """
    SELECT extract(epoch FROM max(looked_at))::float AS checked_s, extract(epoch FROM max(failed_at))::float AS failed_s,
           coalesce(max(cardinality(broken)), 0) AS broken
    FROM invariant_watch
"""
# Only where there is a WAL archive. The slot's position moves by segments.
WAL_ARCHIVE = f"""
    SELECT active::int, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float AS lag_bytes
    FROM pg_replication_slots WHERE slot_name = '{SLOT}'
"""
WORKERS = f"""
    SELECT count(*) FILTER (WHERE last_seen_at > $1::timestamptz - interval '{WORKER_SILENT_AFTER_S} seconds') AS running,
           extract(epoch FROM max(last_seen_at))::float AS last_seen_s
    FROM worker_signs
"""
# Ids are in order of time. An event that only waits for a redelivery was delivered or has failed.
OLDEST_UNDELIVERED = """
    SELECT greatest(0, extract(epoch FROM $1::timestamptz - min(e.created_at)))::float AS age_s
    FROM ((SELECT event_id FROM webhook_deliveries WHERE automatic_at IS NOT NULL ORDER BY event_id LIMIT 1)
          UNION ALL (SELECT event_id FROM webhook_deliveries_later ORDER BY event_id LIMIT 1)) AS waiting
    JOIN webhook_events e ON e.id = waiting.event_id
"""
# The oldest email that waits, unless a later one was sent: then a single recipient's server defers it. An attempt that fails
# has its next one later, so that the time of that one says nothing.
MAILS = """
    SELECT greatest(0, extract(epoch FROM $1::timestamptz - min(created_at)))::float AS overdue_s FROM mails
    WHERE next_attempt_at IS NOT NULL AND created_at > coalesce((
        SELECT created_at FROM mails WHERE num_nonnulls(sent_at, shown_at) > 0
        ORDER BY created_at DESC LIMIT 1), '-infinity')
"""
# What waits for an operator, and since when the oldest does.
WAITING = """
    SELECT kind, count, greatest(0, extract(epoch FROM $1::timestamptz - oldest_at))::float AS oldest_s FROM (
    SELECT 'project' AS kind, count(*) AS count, min(updated_at) AS oldest_at FROM projects
    WHERE status = 'in_review' OR pending_changes IS NOT NULL
    UNION ALL
    SELECT 'withdrawal', count(*), min(created_at) FROM withdrawals WHERE status = 'pending_review'
    UNION ALL
    SELECT 'refund', count(*), min(created_at)
    FROM outgoing_transfers WHERE kind = 'refund' AND review = 'required' AND closed_at IS NULL
    UNION ALL
    SELECT 'payout', count(*), min(prepared_at) FROM bank_payouts WHERE status = 'prepared'
    UNION ALL
    SELECT 'unmatched_transfer', count(*), min(s.imported_at)
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id JOIN bank_statements s ON s.id = e.first_statement_id
    WHERE p.outcome = 'unmatched') AS waiting
"""
# Of the oldest 1,000 undelivered events, those that were refused and are older than an hour.
DESTINATIONS_FAILING = """
    SELECT count(DISTINCT (merchant_id, mode, destination_key)) AS count
    FROM ((SELECT event_id, merchant_id, mode, destination_key, tries FROM webhook_deliveries
           WHERE automatic_at IS NOT NULL ORDER BY event_id LIMIT 1000)
          UNION ALL
          (SELECT event_id, merchant_id, mode, destination_key, tries FROM webhook_deliveries_later
           ORDER BY event_id LIMIT 1000)) AS waiting
    WHERE tries > 0 AND uuid_extract_timestamp(event_id) < $1::timestamptz - interval '1 hour'
"""
PAYOUTS_PAUSED = "SELECT payouts_are_paused()::int AS are_paused"
# Payouts that are in a file for the bank, and how many of them were before the time $2.
EXPORTED = """
    SELECT count(*) AS exported, count(*) FILTER (WHERE b.exported_at < $2) AS overdue,
           greatest(0, extract(epoch FROM $1::timestamptz - min(b.exported_at)))::float AS oldest_s
    FROM bank_payouts p JOIN bank_batches b ON b.id = p.batch_id WHERE p.status = 'exported'
"""
# Rails that are measured: one that was removed from the rails file is not, and counts no more after a day.
RAIL_MEASUREMENTS = """
    SELECT m.rail, coalesce(extract(epoch FROM max(b.measured_at)), 0)::float AS measured_s
    FROM rail_measurements m LEFT JOIN rail_balances b ON (b.rail, b.mode) = (m.rail, m.mode)
    WHERE m.mode = 'live' AND m.next_at > $1::timestamptz - interval '1 day' GROUP BY m.rail ORDER BY m.rail
"""
RAIL_DIFFERENCES = """
    SELECT DISTINCT ON (b.rail, b.currency) b.rail, b.currency,
           CASE WHEN abs(b.difference_units) <= b.tolerance_units THEN 0
                ELSE b.difference_units / 10::numeric ^ b.decimals END::float AS difference
    FROM rail_balances b JOIN rail_measurements m ON (m.rail, m.mode) = (b.rail, b.mode)
    WHERE b.mode = 'live' AND m.next_at > $1::timestamptz - interval '1 day'
    ORDER BY b.rail, b.currency, b.measured_at DESC
"""
STATEMENTS = """
    SELECT extract(epoch FROM max(imported_at))::float AS imported_s,
           (max(imported_at) AT TIME ZONE 'UTC')::date AS imported_on, extract(epoch FROM max(last_on))::float AS last_day_s
    FROM bank_statements
"""
BALANCES = """
    SELECT mode, currency, code, sum(balance) AS balance_minor
    FROM ledger_accounts WHERE merchant_id IS NOT NULL GROUP BY mode, currency, code ORDER BY mode, currency, code
"""
ENTRIES = """
    SELECT mode, currency, type, method_id, sum(amount) AS amount_minor, sum(count)::bigint AS count
    FROM running_series WHERE measure = 'entries'
    GROUP BY mode, currency, type, method_id ORDER BY mode, currency, type, method_id
"""
