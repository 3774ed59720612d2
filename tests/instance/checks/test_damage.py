"""The check finds what was changed, added or deleted behind the back of the program: one test for each kind of damage."""

import re

import pytest

from tests.instance.checks.conftest import undone
from tollhouse.instance.checks.run import Scope, verify
from tollhouse.platform.database.pool import Tx

PAST_ALL_RULES = "SET LOCAL session_replication_role = replica"  # triggers and foreign keys sleep in this transaction
EVERYTHING = Scope(full=True)

POST = """
    SELECT ledger_post(gen_random_uuid(), 'live', '{kind}', '{source}', gen_random_uuid(), 0, now(), '{{{kind}}}', '{{EUR}}',
                       '{{5}}', ARRAY[{debit}], '{{{debit_code}}}', ARRAY[{credit}], '{{{credit_code}}}',
                       ARRAY[gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid()])
"""
MERCHANT = "(SELECT merchant_id FROM withdrawals LIMIT 1)"
UNRECORDED = """
    INSERT INTO webhook_events SELECT (e).* FROM (
        SELECT jsonb_populate_record(w, jsonb_build_object('id', overlay(w.id::text PLACING '000' FROM 34))) AS e
        FROM webhook_events w LIMIT 1) x
"""
PAUSE = """
    INSERT INTO payout_pauses
        (id, cause, data_until, paused_at, paused_by, reason, resumed_at, resumed_by, resumed_because) VALUES
"""

USE = """
    INSERT INTO limit_uses
        (source_id, kind, merchant_id, mode, spender, credential_id, currency, amount_minor, given_back_minor, used_at)
    SELECT id, 'withdrawals', merchant_id, mode, 'key', {credential}, currency, {amount}, {back}, created_at
    FROM withdrawals LIMIT 1
"""
KEY = "'77777777-7777-7777-7777-777777777777'::uuid"
ASKED_BY_KEY = "UPDATE withdrawals SET credential_id = '77777777-7777-7777-7777-777777777777'::uuid;"

DAMAGE = {
    "a use that counts less than was withdrawn": (
        "I35 what counts towards limits is what was asked for",
        ASKED_BY_KEY + USE.format(credential=KEY, amount="debit_minor - 1", back="0"),
    ),
    "a use that gave back what did not come back": (
        "I35 what counts towards limits is what was asked for",
        ASKED_BY_KEY + USE.format(credential=KEY, amount="debit_minor", back="1"),
    ),
    "a use of somebody else": (
        "I35 what counts towards limits is what was asked for",
        USE.format(credential=KEY, amount="debit_minor", back="0"),
    ),
    "a posting of an unknown source type": (
        "I20 every posting is of a known kind",
        POST.format(
            kind="payment",
            source="invented",
            debit="NULL::uuid",
            debit_code="rail:bank",
            credit=MERCHANT,
            credit_code="available",
        ),
    ),
    "a posting between two accounts of the platform": (
        "I20 every posting is of a known kind",
        POST.format(
            kind="payment",
            source="transaction",
            debit="NULL::uuid",
            debit_code="rail:bank",
            credit="NULL::uuid",
            credit_code="income:payment_fee",
        ),
    ),
    "an adjustment without an operator's action": (
        "I20 every adjustment has an operator's action",
        POST.format(
            kind="adjustment",
            source="adjustment",
            debit="NULL::uuid",
            debit_code="equity:adjustment",
            credit=MERCHANT,
            credit_code="available",
        ),
    ),
    "an adjustment of another amount than the action": (
        "I20 every adjustment has an operator's action",
        "UPDATE operator_actions SET amount_minor = 400 WHERE action = 'balance_adjusted'",
    ),
    "a withdrawal's receiver": ("I21 .* withdrawal .* was changed", "UPDATE withdrawals SET receiver = 'DE00'"),
    "a withdrawal's merchant": (
        "I21 .* withdrawal .* was changed",
        "UPDATE withdrawals SET merchant_id = gen_random_uuid()",
    ),
    "a payout's receiver": ("I21 .* payout .* was changed", "UPDATE bank_payouts SET receiver_iban = 'DE00'"),
    "an entry's type": ("I21 .* ledger .* was changed", "UPDATE ledger_entries SET type = 'refund' WHERE type = 'payment'"),
    "an entry's time": ("I21 .* ledger .* was changed", "UPDATE ledger_entries SET created_at = created_at + '1 s'"),
    "a posting's type": (
        "I21 .* ledger .* was changed",
        "UPDATE ledger_postings SET type = 'refund' WHERE type = 'payment'",
    ),
    "a ledger transaction's time": (
        "I21 .* ledger .* was changed",
        "UPDATE ledger_transactions SET created_at = created_at - interval '1 day'",
    ),
    "an account's merchant": (
        "I5 an entry belongs to the account's merchant",
        "UPDATE ledger_accounts SET merchant_id = gen_random_uuid() WHERE code = 'available'",
    ),
    "a deleted ledger transaction": (
        "I21 .* ledger .* was deleted",
        "DELETE FROM ledger_transactions WHERE source_type = 'transaction'",
    ),
    "a payment's merchant": ("I21 .* payment .* was changed", "UPDATE transactions SET merchant_id = gen_random_uuid()"),
    "a payment's amount": ("I21 .* payment .* was changed", "UPDATE transactions SET amount_minor = amount_minor + 1"),
    "a deleted payment": ("I21 .* payment .* was deleted", "DELETE FROM transactions"),
    "a link's paid amount": (
        "I7 a link is paid by its payments",
        "UPDATE payment_links SET amount_paid_minor = amount_paid_minor + 1",
    ),
    "a link's amount": ("I21 .* link .* was changed", "UPDATE payment_links SET amount_minor = amount_minor + 1"),
    "a refund's amount": ("I21 .* refund .* was changed", "UPDATE refunds SET amount_minor = amount_minor + 1"),
    "a deleted chargeback": ("I21 .* chargeback .* was deleted", "DELETE FROM chargebacks"),
    "a deleted statement": ("I21 .* bank_statement .* was deleted", "DELETE FROM bank_statements"),
    "a deleted entry of the bank": ("I21 .* bank_entry .* was deleted", "DELETE FROM bank_entries WHERE amount_minor = 777"),
    "a deleted unmatched transfer": (
        "I21 .* bank_transfer .* was deleted",
        "DELETE FROM bank_entry_parts WHERE outcome = 'unmatched'",
    ),
    "a transfer's sender": ("I21 .* bank_transfer .* was changed", "UPDATE bank_entry_parts SET other_iban = 'DE00'"),
    "a deleted hold": ("I21 .* hold .* was deleted", "DELETE FROM ledger_holds"),
    "a deleted event": ("I21 .* event .* was deleted", "DELETE FROM webhook_events WHERE type = 'payment.succeeded'"),
    "an event's body": ("I21 .* event .* was changed", "UPDATE webhook_events SET body = body || ' '::bytea"),
    "an event that nobody recorded": (
        "I21 .* event .* was not written by the program",
        UNRECORDED,
    ),
    "deleted history of operators": ("I21 .* operator_action .* was deleted", "DELETE FROM operator_actions"),
    "changed history of operators": (
        "I21 .* operator_action .* was changed",
        "UPDATE operator_actions SET operator = 'eve'",
    ),
    "a pause of payouts that nobody ended": (
        "I26 an operator ends each pause of payouts",
        PAUSE + "(gen_random_uuid(), 'restored', now(), now(), 'restore', 'Restored', now(), 'eve', 'None')",
    ),
    "a pause of payouts that nobody began": (
        "I26 a pause of payouts begins and is kept",
        PAUSE + "(gen_random_uuid(), 'operator', NULL, now(), 'eve', 'None', NULL, NULL, NULL)",
    ),
    "an export while payouts are paused": (
        "I26 nothing is exported while payouts are paused",
        PAUSE  # noqa: S608 - constants
        + "(gen_random_uuid(), 'restored', now(), now(), 'restore', 'Restored', NULL, NULL, NULL); "
        + "INSERT INTO bank_batches VALUES (gen_random_uuid(), 'DE00', NULL, 'House', 'eve', now() + interval '1 hour')",
    ),
    "a daily total that nothing was posted for": (
        "I27 the daily totals are those of the postings",
        "INSERT INTO ledger_daily_totals VALUES ('live', 'EUR', '2026-11-01', 'payment', 'rail:bank', 'available', 5, 1)",
    ),
    "a position that no conversion made": (
        "I28 positions are those of the ledger",
        "INSERT INTO conversion_positions (currency, position_minor) VALUES ('EUR', 5)",
    ),
    "an erasure whose record was deleted": (
        "I29 exports and erasures of people are recorded",
        (
            "INSERT INTO operator_actions (id, operator, action, subject_id, at)"
            " VALUES (gen_random_uuid(), 'eve', 'person_erased', gen_random_uuid(), now())"
        ),
    ),
    "a changed digest": (
        "I25 the latest blocks of the hash chain match their rows",
        "UPDATE row_digests SET digest = sha256(digest) WHERE kind = 'operator_action'",
    ),
    "a changed block": (
        "I25 every block of the hash chain matches its rows",
        "UPDATE hash_chain_blocks SET ledger_transactions = ledger_transactions[2:]",
    ),
    "a dropped trigger": (
        "I22 .* trigger ledger_postings.append_only is missing",
        "DROP TRIGGER append_only ON ledger_postings",
    ),
    "a trigger that is switched off": (
        "I22 .* trigger ledger_entries.append_only is switched off",
        "ALTER TABLE ledger_entries DISABLE TRIGGER append_only",
    ),
    "foreign keys that are switched off": (
        "I22 .* trigger refunds.RI_ConstraintTrigger.* is switched off",
        "ALTER TABLE refunds DISABLE TRIGGER ALL",
    ),
    "a transition too many": (
        "I22 .* transitions withdrawals.failed is not ours",
        "INSERT INTO state_transitions VALUES ('withdrawals', 'failed', 'approved')",
    ),
    "money that leaves for another reason": (
        "I22 .* release test is not ours",
        "INSERT INTO ledger_release_kinds VALUES ('test', 'outgoing_transfer_lets_leave')",
    ),
    "a source that another function lets leave": (
        "I22 .* release chargeback was changed",
        "UPDATE ledger_release_kinds SET released_by = 'texteq' WHERE source_type = 'chargeback'",
    ),
    "an action that needs no reason": (
        "I22 .* action balance_adjusted was changed",
        "UPDATE operator_action_kinds SET needs_reason = false WHERE action = 'balance_adjusted'",
    ),
    "an email too many": (
        "I22 .* email everything is not ours",
        "INSERT INTO mail_kinds VALUES ('everything')",
    ),
    "a trigger too many": (
        "I22 .* trigger withdrawals.more is not ours",
        "CREATE TRIGGER more AFTER UPDATE ON withdrawals FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change()",
    ),
    "a dropped constraint": (
        "I22 .* constraint ledger_accounts.ledger_accounts_floor is missing",
        "ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_floor",
    ),
    "a constraint that asks for nothing": (
        "I22 .* constraint ledger_accounts.ledger_accounts_floor was changed",
        (
            "ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_floor, "
            "ADD CONSTRAINT ledger_accounts_floor CHECK (true)"
        ),
    ),
    "a column that may be null": (
        "I22 .* column withdrawals.receiver was changed",
        "ALTER TABLE withdrawals ALTER receiver DROP NOT NULL",
    ),
    "a function that lets everything pass": (
        r"I22 .* function ledger_refuse_change\(\) was changed",
        "CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ),
}


async def test_what_the_program_wrote_is_in_order(connection: Tx) -> None:
    async with undone(connection) as tx:
        report = await verify(tx, EVERYTHING)
        kinds = await tx.fetch("SELECT DISTINCT kind FROM row_digests")
    assert report.broken == []
    assert report.full
    assert report.rows > 40
    assert {row["kind"] for row in kinds} >= {
        "ledger", "hold", "link", "payment", "refund", "chargeback", "withdrawal", "bank_statement", "bank_entry",
        "bank_transfer", "payout", "operator_action", "event",
    }  # fmt: skip


@pytest.mark.parametrize(("expected", "plant"), DAMAGE.values(), ids=DAMAGE)
async def test_damage_is_found(connection: Tx, expected: str, plant: str) -> None:
    async with undone(connection) as tx:
        if not plant.lstrip().startswith("SELECT"):
            await tx.raw.execute(PAST_ALL_RULES)
        assert (await tx.raw.execute(plant)) not in ("UPDATE 0", "DELETE 0", "INSERT 0 0")
        found = (await verify(tx, EVERYTHING)).broken
        assert any(re.match(expected, line) for line in found), found
