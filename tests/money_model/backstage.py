"""What happens behind the counter: operators, the rail of live mode, owners at their dashboard, and the worker."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from tests.cast import person_of
from tests.money_model.harness import Harness, Merchant
from tests.money_model.oracle.limits import Terms
from tests.money_model.oracle.withdrawals import Bank
from tests.running import CATALOGUE
from tests.transfers.withdrawals.rails import PENDING
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.accounts.spending import limits
from tollhouse.accounts.spending.limits import LimitsOwner
from tollhouse.accounts.spending.model import Limit, Limits
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import PayoutState
from tollhouse.oauth import connections
from tollhouse.pages.console import actions as operators
from tollhouse.pages.console import reviews
from tollhouse.payments.proposals import actions as proposals
from tollhouse.payments.proposals import store as proposals_store
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.balance_payments import actions as balance_payments
from tollhouse.transfers.balance_payments import store as balance_payments_store
from tollhouse.transfers.balance_payments.model import PartialAmount
from tollhouse.transfers.conversions import rules
from tollhouse.transfers.conversions.model import Conversion
from tollhouse.transfers.fulfillments import jobs as fulfillment_jobs
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.transfers.withdrawals import jobs as withdrawal_jobs
from tollhouse.transfers.withdrawals import sending, store

SAYS: Mapping[Bank, PayoutState] = {"pays": PayoutState("succeeded"), "bounces": PayoutState("failed")}
CUT: Mapping[Bank, Literal["before", "after"]] = {"unheard": "before", "unanswered": "after"}
PERSON = UUID(int=7)
"""Who decides about proposals."""
ROUNDS = 20
"""More than there can be work for."""

PROPOSALS_LAST = timedelta(days=7)
# What is decided once never changes its time: it is made anew.
AGE = """
    INSERT INTO proposals SELECT (jsonb_populate_record(p, jsonb_build_object(
        'id', uuidv7(), 'created_at', p.created_at - $2::interval, 'expires_at', p.expires_at - $2::interval))).*
    FROM proposals p WHERE p.id = $1 RETURNING id
"""
AT_REST = "SELECT id, status FROM proposals WHERE id = ANY ($1)"
# What other histories ordered rests for ever.
LET_DUE = """
    UPDATE fulfillments SET next_look_at = CASE merchant_id WHEN $1 THEN now() - interval '1 s' ELSE 'infinity' END
    WHERE next_look_at < 'infinity'
"""


class Backstage:
    """For one merchant. Every deed returns `ok`, or the code of its refusal."""

    def __init__(self, harness: Harness, shop: Merchant) -> None:
        self._harness = harness
        self._services = harness.services
        self._test = MerchantEnv(shop.merchant_id, "test")
        self._live = MerchantEnv(shop.merchant_id, "live")

    def work(self, job: Callable[[Services], Awaitable[None]]) -> None:
        """Let the worker do one of its jobs."""

        async def once() -> None:
            await job(self._services)

        self._harness.run(once())

    def adjust(self, minor: int) -> str:
        """Operators give euros of live mode, or take them: a second one where much is given."""
        try:
            return "ok" if self._adjusted_by("olga", minor) or self._adjusted_by("otto", minor) else "not_approved"
        except OperatorRefusedError:
            return "insufficient_funds"
        except ApiError as error:
            return error.code

    def _adjusted_by(self, operator: str, minor: int) -> bool:
        context, euros = OperatorContext(operator, clock.now(), "As agreed"), CATALOGUE.currencies["EUR"]
        change = self._services.transact(lambda work: operators.adjust(work, self._live, euros, minor, context), context.at)
        return self._harness.run(change).action == "balance_adjusted"

    def approve(self, withdrawal_id: str, operator: str) -> str:
        """An operator lets a withdrawal go."""
        context = OperatorContext(operator, clock.now())
        return self._reviewed(reviews.approve(self._services, reviews.WITHDRAWALS, UUID(withdrawal_id), context))

    def reject(self, withdrawal_id: str) -> str:
        """An operator keeps a withdrawal here."""
        context = OperatorContext("olga", clock.now(), "Unknown payee")
        return self._reviewed(reviews.reject(self._services, reviews.WITHDRAWALS, UUID(withdrawal_id), context))

    def review_refund(self, refund_id: str, *, approved: bool) -> str:
        """An operator lets a refund go, or keeps it here."""
        decide, context = reviews.approve if approved else reviews.reject, OperatorContext("olga", clock.now(), "Looked at")
        return self._reviewed(decide(self._services, reviews.REFUNDS, UUID(refund_id), context))

    def carry(self, withdrawal_id: str, bank: Bank) -> str:
        """The worker takes up a withdrawal of live mode, if it is one that it looks after; the bank does this."""
        line, paper = self._harness.line, self._harness.bank
        paper.state, paper.declines = SAYS.get(bank, PENDING), bank == "declines"
        line.cut, line.dead = CUT.get(bank), bank == "silent"

        async def once() -> None:
            due = await store.get(self._services.db, self._live, UUID(withdrawal_id))
            if due.next_look_at is not None:
                await withdrawal_jobs.advance_one(self._services, due, clock.now())

        self._harness.run(once())
        return "ok"

    def bank_has(self, withdrawal_id: str) -> bool:
        """Whether it was handed in and got there."""
        return UUID(withdrawal_id) in self._harness.bank.orders

    def record_return(self, withdrawal_id: str) -> str:
        """The bank of live mode returns a withdrawal."""
        id_, services = UUID(withdrawal_id), self._services
        return self._outcome(lambda tx: sending.record_return(Work(tx, services, clock.now()), self._live, id_))

    def follow(self, rule_id: str) -> Conversion | None:
        """The worker follows a rule; what it converted."""
        env, id_, services = self._test, UUID(rule_id), self._services
        return self._harness.run(services.transact(lambda work: rules.apply(work, env, id_), clock.now()))

    def decide(self, proposal_id: str, *, approved: bool, after: timedelta = timedelta()) -> tuple[str, str | None]:
        """The merchant approves or rejects a proposal, now or later: the outcome, and the ID of what was created."""
        services, by, at = self._services, Actor("person", str(PERSON)), clock.now() + after

        async def decide() -> tuple[str, str | None]:
            proposal = await proposals_store.get_of_merchant(services.db, self._test.merchant_id, UUID(proposal_id), at)
            person = person_of(PERSON, self._test.merchant_id)
            try:
                if not approved:
                    await services.transact(lambda work: proposals.reject(work, person, proposal), at, by)
                    return "ok", None
                done = await proposals.approve(lambda act: services.transact(act, at, by), person, proposal)
            except ApiError as error:
                return error.code, None
            return ("ok", str(done.result_id)) if done.error is None else (done.error.code, None)

        return self._harness.run(decide())

    def age(self, proposal_id: str) -> str:
        """The ID of the same proposal, made so long ago that it has expired."""
        [row] = self._harness.run(self._services.db.fetch(AGE, UUID(proposal_id), PROPOSALS_LAST))
        return str(row["id"])

    def proposals_at_rest(self, *proposal_ids: str) -> dict[str, str]:
        """The statuses of these, as they are stored."""
        rows = self._harness.run(self._services.db.fetch(AT_REST, [UUID(proposal_id) for proposal_id in proposal_ids]))
        return {str(row["id"]): row["status"] for row in rows}

    def set_limits(
        self, credential_id: UUID, terms: Terms, recipients: list[str], lasts_s: int | None, *, is_key: bool
    ) -> None:
        """The merchant changes the limits of a key or a connection. `lasts_s`: until then by the test clock."""
        services, owner = self._services, LimitsOwner(self._test, credential_id, is_key, "Agent")

        async def change(work: Work) -> None:
            present = work.now + await clock_offset(work.tx, self._test)
            new = Limits(
                limits=tuple(
                    Limit(
                        kind=bound.kind,
                        currency=bound.currency,
                        per_transaction_minor=bound.once,
                        per_day_minor=bound.day,
                        per_month_minor=bound.month,
                    )
                    for bound in terms.bounds
                ),
                recipients=None if terms.recipients == "any" else tuple(UUID(each) for each in recipients),
                expires_at=None if lasts_s is None else present + timedelta(seconds=lasts_s),
            )
            await limits.replace(work, owner, new)

        self._harness.run(services.transact(change, clock.now(), Actor("person", str(PERSON))))

    def deliver(self, ordered: int) -> None:
        """The worker asks for what was ordered, as if its time had come: some at once, until it has asked for so many."""
        self._harness.run(self._services.db.execute(LET_DUE, self._test.merchant_id))
        for _ in range(0, ordered, fulfillment_jobs.BATCH_SIZE):
            self.work(fulfillment_jobs.deliver)

    def expire_reservations(self) -> None:
        """The worker gives back whatever nobody captured in time: some at once, until nothing is left of any history."""
        for _ in range(ROUNDS):
            if not self._harness.run(balance_payments_store.list_due(self._services.db, clock.now(), 1)):
                break
            self.work(balance_payments.expire_reservations)

    def capture_as_owner(self, owner: Merchant, payment_id: str, amount: str | None) -> str:
        """The owner of an application takes what it reserved."""
        part, id_ = PartialAmount(amount), UUID(payment_id)
        who = (owner.merchant_id, owner.client_id)
        return self._outcome(lambda tx: balance_payments.capture_as_owner(self._work(tx), *who, id_, part))

    def release_as_owner(self, owner: Merchant, payment_id: str) -> str:
        """The owner of an application gives back what it reserved."""
        who, id_ = (owner.merchant_id, owner.client_id), UUID(payment_id)
        return self._outcome(lambda tx: balance_payments.release_as_owner(self._work(tx), *who, id_))

    def disconnect(self, payer: Merchant, owner: Merchant, by: str) -> str:
        """The merchant, or the owner of the application, ends its connections; or the owner ends all that it has."""
        who = (owner.merchant_id, owner.client_id)
        if by == "owner of all":
            return self._outcome(lambda tx: connections.disconnect_all(self._work(tx), *who))

        async def each(tx: Tx) -> None:
            for connection in payer.connections:
                if by == "merchant":
                    await connections.revoke_grant(self._work(tx), payer.merchant_id, connection.grant_id)
                else:
                    await connections.disconnect_one(self._work(tx), *who, connection.grant_id)

        return self._outcome(each)

    def _work(self, tx: Tx) -> Work:
        return Work(tx, self._services, clock.now())

    def _outcome(self, action: Callable[[Tx], Awaitable[Any]]) -> str:
        """One transaction."""
        try:
            self._harness.run(self._services.db.transact(action))
        except ApiError as refused:
            return refused.code
        return "ok"

    def _reviewed(self, action: Coroutine[Any, Any, object]) -> str:
        try:
            self._harness.run(action)
        except OperatorRefusedError:
            return "invalid_state"
        return "ok"
