"""The rules of approvals, which pages and commands share.

A person who can sign in to a merchant account never approves anything of it. If two approvals are needed, two people
give them on their pages. After a password of the merchant's users was reset, two are needed. With
`TOLLHOUSE_TWO_OPERATORS=off`, one approval on the pages is enough, and after a reset it has to wait.
"""

from datetime import datetime, timedelta

from tollhouse.accounts.approvals import store
from tollhouse.accounts.approvals.model import (
    TWO,
    Approvals,
    ApprovedBefore,
    Decision,
    OperatorContext,
    OperatorRefusedError,
    Reviewer,
)
from tollhouse.accounts.identity.credentials import email_key
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Pool, Tx

RESET_COUNTS = timedelta(hours=72)
"""How long two operators are needed after a password reset."""
ON_PAGES = "Two operators must approve this, on the operator pages. It cannot be approved on the command line."

OPEN_FOR = timedelta(days=7)
"""How long an approval waits for the second one."""


async def ensure_independent(tx: Tx, merchant_id: MerchantId, reviewer: Reviewer) -> None:
    """Raise `OperatorRefusedError` if the reviewer is a user of the merchant."""
    if await store.can_enter(tx, merchant_id, email_key(reviewer.name)):
        raise OperatorRefusedError(
            Text(
                "%(name)s is a user of merchant %(merchant_id)s. Another operator must decide.",
                name=reviewer.name,
                merchant_id=merchant_id,
            )
        )


async def ensure_active(tx: Tx, merchant_id: MerchantId) -> None:
    """Lock the merchant against suspension. Raises `OperatorRefusedError` if it is suspended."""
    if not await store.lock_active(tx, merchant_id):
        raise OperatorRefusedError(
            Text(
                "Merchant %(merchant_id)s is suspended. Nothing can be approved or paid out for it.", merchant_id=merchant_id
            )
        )


async def reset_counts_until(tx: Tx, merchant_id: MerchantId, now: datetime) -> datetime | None:
    """Until when a password reset requires two operators; None if none does."""
    reset_at = await store.last_reset(tx, merchant_id)
    return None if reset_at is None or now >= reset_at + RESET_COUNTS else reset_at + RESET_COUNTS


async def approvals_needed(
    tx: Tx, merchant_id: MerchantId, usually: int, now: datetime, *, single_operator: bool = False
) -> int:
    """The number of operators who must approve: at least two after a password reset.

    A single operator waits until the reset does not count any more. Raises `OperatorRefusedError` until then.
    """
    if single_operator:
        await ensure_no_reset(tx, merchant_id, now)
    return usually if await reset_counts_until(tx, merchant_id, now) is None else max(usually, TWO)


async def ensure_no_reset(tx: Tx, merchant_id: MerchantId, now: datetime) -> None:
    """Raise `OperatorRefusedError` if a password reset requires two operators, for actions of a single one."""
    until = await reset_counts_until(tx, merchant_id, now)
    if until is not None:
        raise OperatorRefusedError(
            Text(
                "A password of merchant %(merchant_id)s was reset in the last 72 hours. You can do this from %(until)s.",
                merchant_id=merchant_id,
                until=stamp(until),
            )
        )


def approve(so_far: Approvals, reviewer: Reviewer) -> Approvals:
    """Add an approval. Raises `ApprovedBefore`, and `OperatorRefusedError` on the command line where two are needed."""
    if reviewer.is_among(so_far.given):
        raise ApprovedBefore
    if so_far.needed >= TWO and reviewer.on_command_line:
        raise OperatorRefusedError(ON_PAGES)
    by_command = so_far.by_command + reviewer.on_command_line
    return Approvals((*so_far.given, reviewer.name), by_command, so_far.needed, so_far.single_operator)


async def ensure_operator(db: Pool, email: str) -> str:
    """The stored email address of an operator. Raises `OperatorRefusedError` if there is none."""
    found = await store.operator(db, email_key(email))
    if found is None:
        raise OperatorRefusedError(Text("%(email)s is not an operator.", email=email))
    return found


async def approve_decision(work: Work, decision: Decision, context: OperatorContext) -> Approvals:
    """Add an operator's approval to a decision. If there are enough, they are used, and the caller carries it out.

    Decisions about the same subject wait for each other. Raises `ApprovedBefore`, and `OperatorRefusedError` on the command
    line: two operators approve on their pages.
    """
    await store.lock(work.tx, decision.kind, decision.subject_id)
    await store.delete_before(work.tx, decision, context.at - OPEN_FOR)
    given = await store.list_open(work.tx, decision.kind, decision.subject_id, decision.terms)
    single_operator = not work.services.settings.two_operators
    so_far = Approvals(tuple(approval.operator for approval in given), 0, TWO, single_operator)
    approvals = approve(so_far, context.reviewer)
    # Nothing below this line may refuse.
    await store.insert(work.tx, decision, context, single_operator=single_operator)
    if approvals.complete:
        await store.use(work.tx, decision, context.at)
    return approvals
