"""Decisions that two operators make: each one's approval is kept until there are enough, and is then used."""

from datetime import timedelta

from tollhouse.accounts.approvals import decisions_store as store
from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import TWO, Approvals, Decision, OperatorContext
from tollhouse.http.services import Work

OPEN_FOR = timedelta(days=7)
"""How long an approval waits for the second one."""


async def approve(work: Work, decision: Decision, context: OperatorContext) -> Approvals:
    """Add an operator's approval to a decision. If there are enough, they are used, and the caller carries it out.

    Decisions about the same subject wait for each other. Raises `ApprovedBefore`, and `OperatorRefusedError` on the command
    line: two operators approve on their pages.
    """
    await store.lock(work.tx, decision.kind, decision.subject_id)
    await store.delete_before(work.tx, decision, context.at - OPEN_FOR)
    given = await store.list_open(work.tx, decision.kind, decision.subject_id, decision.terms)
    single_operator = not work.services.settings.two_operators
    so_far = Approvals(tuple(one.operator for one in given), 0, TWO, single_operator)
    approvals = rules.approve(so_far, context.reviewer)
    # Nothing below this line may refuse.
    await store.insert(work.tx, decision, context, single_operator=single_operator)
    if approvals.complete:
        await store.use(work.tx, decision, context.at)
    return approvals
