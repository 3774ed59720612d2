"""What an agent does with an API key, by the guards of the API: it asks for money, and proposes what it is refused.

One key may only propose, the other one has limits. Whatever the merchant did not approve moves nothing by the first, and
no more than its limits by the second; what it approved runs once, as it was proposed.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from tests.adversary_model import selling
from tests.adversary_model.quay import NAME, PAYER
from tests.adversary_model.story import Key, Returned, Story
from tests.cast import person_of
from tollhouse.accounts.identity.store import INSERT_API_KEY
from tollhouse.accounts.spending.model import NO_LIMITS, Limit, Limits
from tollhouse.http.operations import Operation
from tollhouse.http.request import Headers, Request
from tollhouse.http.services import Work
from tollhouse.kernel import tokens
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.scopes import API
from tollhouse.payments.proposals import actions, store
from tollhouse.payments.proposals import api as proposals
from tollhouse.payments.proposals.model import Proposal
from tollhouse.payments.refunds import api as refunds
from tollhouse.transfers.conversions import api as conversions
from tollhouse.transfers.withdrawals import api as withdrawals

PERSON = UUID(int=7)
"""Who decides about proposals."""
DAY = timedelta(hours=24)
MOST = {"EUR": (6_000, 10_000), "USD": (6_000, 10_000), "BTC": (120_000, 200_000)}
"""The limits of each kind: for one, and for a day."""
LIMITED = Limits(
    limits=tuple(
        Limit(kind=kind, currency=code, per_transaction_minor=one, per_day_minor=day)
        for kind in ("withdrawals", "refunds", "conversions")
        for code, (one, day) in MOST.items()
    )
)
KEYS = {"proposals_only": NO_LIMITS, "limited": LIMITED}
DOORS = {
    (operation.method, operation.path): operation
    for operation in (
        *withdrawals.OPERATIONS,
        *refunds.OPERATIONS,
        *conversions.OPERATIONS,
        *conversions.RULE_OPERATIONS,
        *proposals.INTEGRATION_OPERATIONS,
    )
}
PATHS = {
    "withdrawals": "/withdrawals",
    "refunds": "/transactions/{transaction_id}/refunds",
    "conversions": "/conversions",
    "rules": "/conversion-rules",
}
MOVED = """
    SELECT (SELECT count(*) FROM ledger_transactions WHERE id > $1)
           + (SELECT count(*) FROM conversion_rules WHERE merchant_id = $2) AS n
"""
MADE = """
    SELECT 'withdrawals' AS kind, id, currency, amount_minor, debit_minor, receive_minor, credential_id, created_at,
           NULL::uuid AS payment_id, true AS is_kept FROM withdrawals WHERE merchant_id = $1 AND mode = 'live'
    UNION ALL
    SELECT 'refunds', id, currency, amount_minor, amount_minor, amount_minor, credential_id, created_at,
           transaction_id, status NOT IN ('failed', 'reversed') FROM refunds WHERE merchant_id = $1 AND mode = 'live'
    UNION ALL
    SELECT 'conversions', id, from_currency, from_amount_minor, from_amount_minor, to_amount_minor, credential_id,
           created_at, NULL, true FROM conversions WHERE merchant_id = $1 AND mode = 'live'
"""
PROPOSED = "SELECT id, operation, amount_minor, currency, result_id FROM proposals WHERE merchant_id = $1"


def try_to_spend(story: Story, which: int, how: int) -> str:
    """The agent asks for money, all of it or a part, and proposes the same."""
    name, kind = list(KEYS)[which % 2], list(PATHS)[how % 4]
    body = _body(story, kind, which // 2, how // 4)
    params = {"transaction_id": body.pop("transaction_id")} if kind == "refunds" else {}
    before = _moved(story)
    done = _call(story, name, DOORS["POST", PATHS[kind]], body, **params)
    if isinstance(done, str):
        _expect_nothing(story, before, f"{kind} refused with {done}")
    elif name == "proposals_only" or kind == "rules":
        story.wrong.append(f"a {name} key had its way: {kind}")
    else:
        _adopt(story, done.id)
    if kind == "rules":
        return f"{name} {kind}: {_outcome(done)}"
    before = _moved(story)
    sent = {"operation": kind, "body": body | {key: str(value) for key, value in params.items()}}
    made = _call(story, name, DOORS["POST", "/proposals"], sent)
    _expect_nothing(story, before, f"{kind} proposed")
    if not isinstance(made, str):
        story.proposed.append((made.id, name))
    return f"{name} {kind} {body}: {_outcome(done)}, proposed: {_outcome(made)}"


def decide(story: Story, which: int, how: int) -> str:
    """The merchant approves what the agent proposed, or rejects it; or the agent cancels it, and then all try again."""
    proposal_id, name = story.proposed.pop(which % len(story.proposed))
    before = _moved(story)
    if how % 4 == 0:
        cancel = DOORS["POST", "/proposals/{proposal_id}/cancel"]
        first = "canceled " + _outcome(_call(story, name, cancel, None, proposal_id=proposal_id))
    elif how % 4 == 1:
        first = "rejected " + _outcome(_decide(story, proposal_id, is_approved=False))
    else:
        story.approved.add(proposal_id)
        done = _decide(story, proposal_id, is_approved=True)
        first = "approved " + _outcome(done)
        if not isinstance(done, str) and done.result_id is not None:
            _adopt(story, done.result_id)
            before = _moved(story)
    again = _decide(story, proposal_id, is_approved=True)
    _expect_nothing(story, before, f"{first}, then {_outcome(again)}")
    return first


def violations_of(story: Story) -> list[str]:
    """What the agent gained that nobody approved and no limit allows."""
    if not story.keys:
        return []
    made = {row["id"]: row for row in story.yard.rows(MADE, story.shop.merchant_id)}
    found = list(story.wrong)
    for row in story.yard.rows(PROPOSED, story.shop.merchant_id):
        if row["result_id"] is None:
            continue
        result = made[row["result_id"]]
        asked, got = (row["operation"], row["currency"]), (result["kind"], result["currency"])
        if row["id"] not in story.approved:
            found.append(f"{row['operation']} ran that nobody approved")
        elif asked != got or row["amount_minor"] not in {None, result["amount_minor"]}:
            found.append(f"{asked} of {row['amount_minor']} ran as {got} of {result['amount_minor']}")
    if any(row["credential_id"] == story.keys["proposals_only"].id for row in made.values()):
        found.append("a key that may only propose moved money")
    own = [row for row in made.values() if row["credential_id"] == story.keys["limited"].id and row["is_kept"]]
    for row in own:
        one_minor, day_minor = MOST[row["currency"]]
        like = [other for other in own if (other["kind"], other["currency"]) == (row["kind"], row["currency"])]
        within = [other for other in like if row["created_at"] - DAY < other["created_at"] <= row["created_at"]]
        if row["debit_minor"] > one_minor or sum(other["debit_minor"] for other in within) > day_minor:
            found.append(f"{row['kind']} of {row['debit_minor']} {row['currency']} were beyond the limits")
    return found


def _call(story: Story, name: str, operation: Operation, sent: Any, **params: UUID) -> Any:
    """What the operation answers to this key; the code of its refusal."""
    services, now = story.yard.services, story.now
    headers = Headers([(b"x-api-key", _key(story, name).secret.encode())])
    request = Request(
        services, operation.method, operation.full_path,
        headers=headers, query=b"", raw=b"", address="127.0.0.1", request_id=None, now=now,
    )  # fmt: skip

    async def call() -> Any:
        caller = await operation.guard.admit(request)
        body = {} if sent is None else {"body": msgspec.convert(sent, operation.body)}
        return await services.transact(
            lambda work: operation.handler(caller=caller, work=work, **body, **params), now, request.actor
        )

    return _or_code(story, call())


def _decide(story: Story, proposal_id: UUID, *, is_approved: bool) -> Any:
    services, now = story.yard.services, story.now

    async def decide_now() -> Any:
        proposal = await store.get_of_merchant(services.db, story.shop.merchant_id, proposal_id, now)

        async def transact(action: Any) -> Any:
            return await services.transact(action, now, Actor("person", str(PERSON)))

        person = person_of(PERSON, story.shop.merchant_id)
        if is_approved:
            return await actions.approve(transact, person, proposal)

        async def reject(work: Work) -> Proposal:
            return await actions.reject(work, person, proposal)

        return await transact(reject)

    return _or_code(story, decide_now())


def _or_code(story: Story, call: Any) -> Any:
    try:
        return story.yard.run(call)
    except ApiError as refused:
        return refused.code


def _key(story: Story, name: str) -> Key:
    """The merchant's key of this name; made, both of them, when the agent first comes."""
    if not story.keys:
        for each, limits in KEYS.items():
            key = story.keys[each] = Key(new_id(), tokens.mint(tokens.LIVE_API_KEY_PREFIX))
            values = ("live", each, tokens.digest(key.secret), API.mask, "hint", story.now, limits.stored, None)
            insert = story.yard.services.db.execute(
                INSERT_API_KEY, key.id, story.shop.merchant_id, *values, each == "proposals_only", None
            )
            story.yard.run(insert)
    return story.keys[name]


def _body(story: Story, kind: str, which: int, part: int) -> dict[str, Any]:
    if kind == "refunds":
        attempt = story.attempts[which % len(story.attempts)]
        share = attempt.amount_minor // selling.PARTS[part % len(selling.PARTS)]
        return {"transaction_id": attempt.payment_id, "amount": selling.spelt(max(1, share), attempt.currency)}
    given, got, amount = selling.pair(story, which, part)
    if kind == "withdrawals":
        return {"method_id": f"{NAME}:{given}", "amount": amount, "receiver": PAYER}
    pair = {"from_currency": given, "to_currency": got}
    return pair | ({"trigger": "on_payment"} if kind == "rules" else {"amount": amount})


def _adopt(story: Story, made_id: UUID) -> None:
    """What was made goes its way like everything of the merchant's."""
    row = next(row for row in story.yard.rows(MADE, story.shop.merchant_id) if row["id"] == made_id)
    returned = Returned(made_id, row["currency"], row["receive_minor"], row["payment_id"])
    if row["kind"] == "refunds":
        story.refund_ids.add(made_id)
        story.refunds.append(returned)
    elif row["kind"] == "withdrawals":
        story.withdrawals.append(returned)
        for operator in ("olga", "oskar"):
            selling.approve(story, made_id, operator)


def _moved(story: Story) -> int:
    """How much has happened to money so far."""
    return story.yard.rows(MOVED, story.before, story.shop.merchant_id)[0]["n"]


def _expect_nothing(story: Story, before: int, what: str) -> None:
    if _moved(story) != before:
        story.wrong.append(f"money moved: {what}")


def _outcome(done: Any) -> str:
    return done if isinstance(done, str) else getattr(done, "status", "done")
