"""Agents at the merchant's desk: keys and connections with limits that change, and proposals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID, uuid4

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.balance_payments import BalancePaymentActions
from tests.money_model.actions.conversions import ConversionActions, pair_of
from tests.money_model.actions.fulfillments import FulfillmentActions
from tests.money_model.actions.live_withdrawals import LiveWithdrawalActions
from tests.money_model.actions.payments import PAID
from tests.money_model.actions.picking import CURRENCIES, PICK, mostly
from tests.money_model.actions.withdrawals import RECEIVER, body_of
from tests.money_model.backstage import PROPOSALS_LAST
from tests.money_model.history import AGENTS, CONNECTED, KEY, PROPOSER, spelt
from tests.money_model.oracle.balance_payments import BalancePayment
from tests.money_model.oracle.balances import SHOP, RefusedError
from tests.money_model.oracle.books import Books
from tests.money_model.oracle.conversions import Pair
from tests.money_model.oracle.fulfillments import UNIT_PRICE
from tests.money_model.oracle.limits import KINDS, Bound, Kind, Terms
from tests.money_model.oracle.withdrawals import Wish
from tollhouse.payments.proposals import jobs

MOST = st.none() | st.integers(1_000, 150_000)
BOUNDS = st.lists(
    st.builds(Bound, st.sampled_from(KINDS), CURRENCIES, MOST, MOST, MOST),
    max_size=5,
    unique_by=lambda bound: (bound.kind, bound.currency),
)
TERMS = st.builds(Terms, BOUNDS.map(tuple), st.sampled_from(["any", "any", "any", "ours", "others"]))
LASTS_S = st.sampled_from([None, None, None, 2_500, 52_500])
"""How long limits last: no sum of the clock's steps."""
AMOUNTS = st.integers(100, 30_000)


@dataclass(frozen=True)
class Proposal:
    """What an agent has proposed by a credential: what running it does to the books, and how they learn its ID."""

    proposal_id: str
    by: str
    credential: str
    run: Callable[[Books], object]
    learn: Callable[[Books, str], None]


@dataclass(frozen=True)
class Idea:
    """What could be proposed: the body, whether that is refused at once, and what it does."""

    body: dict[str, Any]
    check: Callable[[Books], object]
    run: Callable[[Books], object]
    learn: Callable[[Books, str], None]


class AgentActions(ConversionActions, LiveWithdrawalActions, BalancePaymentActions, FulfillmentActions):
    """Whatever the shop spends is asked for by whoever is at the desk: itself, or one of its agents."""

    def __init__(self) -> None:
        super().__init__()
        self.proposals: list[Proposal] = []

    @rule(who=st.sampled_from([SHOP, KEY, KEY, PROPOSER, *CONNECTED]))
    def hand_over(self, who: str) -> None:
        """Somebody else works at the desk now."""
        self.history.desk = who

    @rule(who=st.sampled_from([KEY, *CONNECTED]), terms=TERMS, lasts_s=LASTS_S, pick=PICK)
    def set_limits(self, who: str, terms: Terms, lasts_s: int | None, pick: int) -> None:
        """The merchant gives limits, or raises, lowers or removes them; mostly to the one that works next."""
        if not self.books.limits.credentials[who].is_alive:
            return
        history, merchant = self.history, self.history.merchants[SHOP]
        ids = [UUID(history.own_id(KEY)), *(connection.grant_id for connection in merchant.connections)]
        recipients = [] if terms.recipients == "any" else [self._recipient(terms.recipients)]
        credential_id = ids[(KEY, *CONNECTED).index(who)]
        history.backstage.set_limits(credential_id, terms, recipients, lasts_s, is_key=who == KEY)
        expires_at = None if lasts_s is None else self.books.clock + lasts_s
        self.books.limits.credentials[who].terms = Terms(terms.bounds, terms.recipients, expires_at)
        history.same_limits()
        if mostly(pick):
            history.desk = who

    @rule(amounts=st.lists(AMOUNTS, min_size=2, max_size=4), seconds=st.sampled_from([5_000, 100_000, 1_300_000]), pick=PICK)
    def spend_little_by_little(self, amounts: list[int], seconds: int, pick: int) -> None:
        """One withdrawal after the other, until a limit refuses it, or time has passed."""
        for amount in amounts:
            self._withdraw(Wish("EUR", amount, "deduct"), pick)
        self.history.same_limits()
        self.history.request("/test/clock/advance", {"seconds": seconds}, lambda: self.books.advance(seconds))
        self._withdraw(Wish("EUR", amounts[0], "deduct"), pick)

    @rule(operation=st.sampled_from(KINDS), by=st.sampled_from(AGENTS), currency=CURRENCIES, amount=AMOUNTS, pick=PICK)
    def propose(self, operation: Kind, by: str, currency: str, amount: int, pick: int) -> None:
        """An agent proposes, also beyond its limits, and nothing moves."""
        self._propose(operation, by, currency, amount, pick)

    @rule(pick=PICK, decision=st.sampled_from(["approve", "approve", "approve", "reject", "cancel", "too late"]))
    def decide_about_proposal(self, pick: int, decision: Literal["approve", "reject", "cancel", "too late"]) -> None:
        """It runs once, by what is true now and whatever the limits are, or never; and not after its connection's end."""
        if not self.proposals:
            return
        history, place = self.history, pick % len(self.proposals)
        proposal = self.proposals[place]
        is_open = self._is_open(proposal)
        if decision == "too late":
            outcome = history.backstage.decide(proposal.proposal_id, approved=True, after=PROPOSALS_LAST)
            assert outcome == ("invalid_state", None)
            return
        del self.proposals[place]
        if decision == "cancel" and is_open:
            history.request(f"/proposals/{proposal.proposal_id}/cancel", {}, lambda: None, proposal.by)
            ended = "canceled"
        elif decision == "approve":
            ended = "approved" if self._approve_proposal(proposal, is_open=is_open) else "failed"
        else:
            found = history.backstage.decide(proposal.proposal_id, approved=False)
            assert found == ("ok" if is_open else "invalid_state", None)
            ended = "rejected"
        assert history.backstage.decide(proposal.proposal_id, approved=True) == ("invalid_state", None)
        if is_open:
            assert history.counter.get(f"/proposals/{proposal.proposal_id}", proposal.credential)["status"] == ended

    @rule(operation=st.sampled_from(KINDS), by=st.sampled_from(AGENTS), amount=AMOUNTS, pick=PICK)
    def end_proposals(self, operation: Kind, by: str, amount: int, pick: int) -> None:
        """The worker stores which ones have expired, or ended with their connection. The others wait, and nothing moves."""
        if mostly(pick):
            self._propose(operation, by, "EUR", amount, pick)
        if not self.proposals:
            return
        history, proposal = self.history, self.proposals[pick % len(self.proposals)]
        ended = {each.proposal_id: "canceled" for each in self.proposals if not self._is_open(each)}
        if self._is_open(proposal):
            ended[history.backstage.age(proposal.proposal_id)] = "expired"
        history.backstage.work(jobs.store_ended)
        self.proposals = [each for each in self.proposals if each.proposal_id not in ended]
        expected = ended | {each.proposal_id: "waiting" for each in self.proposals}
        assert history.backstage.proposals_at_rest(*expected) == expected
        for proposal_id in ended:
            assert history.backstage.decide(proposal_id, approved=mostly(pick)) == ("invalid_state", None)

    @rule(frequency=st.sampled_from(["daily", "monthly"]), amount=AMOUNTS)
    def schedule_withdrawals(self, frequency: str, amount: int) -> None:
        """Whoever is at the desk lets a withdrawal be asked for again and again. It ends before the first time."""
        body = {"recipient_id": self._recipient("ours"), "frequency": frequency, "amount": spelt(amount, "EUR")}
        body |= {"day": 1} if frequency == "monthly" else {}
        wish = Wish("EUR", amount, "deduct")
        made = self.history.request("/withdrawal-schedules", body, lambda: self.books.withdrawals.schedule(wish))
        if made is not None:
            ended = self.history.counter.delete(f"/withdrawal-schedules/{made['id']}", self.history.credentials[SHOP])
            assert ended.status == 200, ended.raw

    def _propose(self, operation: Kind, by: str, currency: str, amount: int, pick: int) -> None:
        idea = self._idea(operation, by, currency, amount, pick)
        if idea is None:
            return
        sent, credential = {"operation": operation, "body": idea.body}, self.history.credentials[by]
        made = self.history.request("/proposals", sent, lambda: idea.check(self.books), by)
        if made is not None:
            self.proposals.append(Proposal(made["id"], by, credential, idea.run, idea.learn))

    def _approve_proposal(self, proposal: Proposal, *, is_open: bool) -> bool:
        results = list[str | None]()

        def decide() -> str:
            outcome, result_id = self.history.backstage.decide(proposal.proposal_id, approved=True)
            results.append(result_id)
            return outcome

        def run() -> None:
            if not is_open:
                raise RefusedError("invalid_state")
            proposal.run(self.books)

        done = self.history.let(decide, run, *self.history.merchants)
        if done:
            proposal.learn(self.books, results[0] or "")
        return done

    def _is_open(self, proposal: Proposal) -> bool:
        """Whether the connection or key that has proposed it still is one."""
        is_same = self.history.credentials[proposal.by] == proposal.credential
        return is_same and self.books.limits.credentials[proposal.by].is_alive

    def _recipient(self, whose: Literal["ours", "others"]) -> str:
        """The saved recipient that withdrawals go to, or another one."""
        known, history = self.history.recipients, self.history
        if whose not in known:
            receiver = RECEIVER if whose == "ours" else "DE89370400440532013000"
            fields = {"account_holder_name": "Nina"}
            body = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": receiver, "provider_fields": fields}
            made = history.counter.post("/withdrawal-recipients", body, history.credentials[SHOP], str(uuid4()))
            assert made.status == 201, made.raw
            known[whose] = made.body["id"]
        return known[whose]

    def _idea(self, operation: Kind, by: str, currency: str, amount: int, pick: int) -> Idea | None:
        """What an agent could propose; none where there is nothing to propose."""
        match operation:
            case "withdrawals":
                return self._withdrawal_idea(Wish(currency, amount, "add"), pick)
            case "conversions":
                return self._conversion_idea(("EUR", "JPY") if pick % 2 else ("JPY", "EUR"), amount, pick)
            case "fulfillments":
                quantity = amount // UNIT_PRICE
                body = {"product_id": "sandbox:gems", "quantity": quantity, "recipient": {"player_id": "p-1"}}
                return Idea(body, _nothing, lambda books: books.fulfillments.order(quantity, "p-1", None), _learn_order)
            case "balance_payments" if by in CONNECTED:
                body = {"amount": spelt(amount, currency), "currency": currency}
                return Idea(body, _nothing, lambda books: _pay(books, currency, amount), _learn_payment)
            case "refunds":
                return self._refund_idea(pick)
            case _:
                return None

    def _withdrawal_idea(self, wish: Wish, pick: int) -> Idea:
        self.have(SHOP, wish.currency, wish.amount + 1_000, pick)
        return Idea(
            body_of(SHOP, wish) | {"network_fee_mode": wish.mode},
            lambda books: books.withdrawals.price(SHOP, wish),
            lambda books: books.withdrawals.request(SHOP, wish, books.clock),
            _learn_withdrawal,
        )

    def _conversion_idea(self, pair: Pair, amount: int, pick: int) -> Idea:
        least = 0 if mostly(pick) else amount
        self.have(SHOP, pair[0], amount, pick)
        body = pair_of(pair) | {"amount": spelt(amount, pair[0])}
        body |= {"min_to_amount": spelt(least, pair[1])} if least else {}
        return Idea(body, _nothing, lambda books: books.conversions.convert(pair, amount, least), _learn_conversion)

    def _refund_idea(self, pick: int) -> Idea | None:
        self._prepare(PAID, pick, "succeed")
        payments = [payment for payment in self.books.payments if payment.status in PAID]
        payment = self.one_of(payments, payments, pick)
        if payment is None:
            return None
        id_ = payment.payment_id
        return Idea({"transaction_id": id_}, _nothing, lambda books: _refund(books, id_), _learn_refund)


def _nothing(_books: Books) -> None:
    """Whatever is proposed is refused when it runs, if at all."""


def _pay(books: Books, currency: str, amount: int) -> None:
    books.balance_payments.pay(BalancePayment(SHOP, currency, amount), by="application", capture=True)


def _refund(books: Books, payment_id: str) -> None:
    [payment] = [payment for payment in books.payments if payment.payment_id == payment_id]
    books.refund(payment, None)


def _learn_withdrawal(books: Books, id_: str) -> None:
    books.withdrawals.every[-1].withdrawal_id = id_


def _learn_conversion(books: Books, id_: str) -> None:
    books.conversions.every[-1].conversion_id = id_


def _learn_order(books: Books, id_: str) -> None:
    books.fulfillments.every[-1].fulfillment_id = id_


def _learn_payment(books: Books, id_: str) -> None:
    books.balance_payments.every[-1].payment_id = id_


def _learn_refund(books: Books, id_: str) -> None:
    books.refunds[-1].refund_id = id_
