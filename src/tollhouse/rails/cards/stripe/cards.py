"""The card rail: customers pay on the provider's page, and the provider's API says what has become of it.

The reference of a payment is the ID of its Checkout Session. A refund goes to the card that paid; its receiver is the ID of
the provider's payment.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from tollhouse.kernel.ids import Mode, created_at_of
from tollhouse.kernel.rails.disputes import DisputeOrder, DisputeSubmission
from tollhouse.kernel.rails.provider import (
    AT_ONCE,
    Attempt,
    Health,
    Instructions,
    PayoutOrder,
    PayoutState,
    RailUnavailableError,
    RefundOrder,
    RefundState,
    Submission,
)
from tollhouse.platform.log.events import log
from tollhouse.rails.cards.stripe.client import StripeAccount, StripeClient, StripeError
from tollhouse.rails.cards.stripe.objects import (
    CheckoutSession,
    InexactAmountError,
    SessionList,
    StripeBalance,
    StripeBalanceTransaction,
    StripeBalanceTransactionList,
    StripeDispute,
    StripeDisputeList,
    StripeRefund,
    StripeRefundList,
    to_provider,
)
from tollhouse.rails.cards.stripe.observed import (
    CLOSED,
    PAYMENT,
    REFUND,
    BalanceTransaction,
    ProviderBalance,
    closed,
    evidence_form,
    intent_of,
    read_amounts,
    read_transaction,
)

WORDS = "You enter your card details on the secure page of our payment provider."
INTENT = "pi_"
PAGE_OPEN_MIN, PAGE_OPEN_MAX = timedelta(minutes=31), timedelta(hours=23, minutes=59)
"""How long the provider keeps a page open: 30 minutes to 24 hours from its creation, with a minute for slow clocks."""
NAME_CHARS_MAX = 120
EXPANDED = "payment_intent.latest_charge"
REFUNDS_PER_PAGE, REFUND_PAGES_MAX = 100, 20
DISPUTES_PER_PAGE, DISPUTE_PAGES_MAX = 100, 100
BALANCE_TRANSACTIONS_PER_PAGE, BALANCE_TRANSACTION_PAGES_MAX = 100, 5_000
AWAITS_RESPONSE = "needs_response"


class StripeCards:
    """Cards in live mode."""

    mode: Mode = "live"
    is_exported = False
    times = AT_ONCE

    def __init__(self, account: StripeAccount) -> None:
        self.name = account.rail
        self.account = account
        self._client = StripeClient(account)

    def health(self) -> Health:
        """Available while it is configured."""
        return Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """Open a hosted payment page. Raises `RailUnavailableError`."""
        try:
            key = f"payment-{attempt.id}"
            session = await self._client.post("/v1/checkout/sessions", CheckoutSession, self._page(attempt), key)
        except (StripeError, InexactAmountError) as error:
            log.error("provider_refused", part=self.name, detail=str(error))
            raise RailUnavailableError(str(error)) from None
        if session.url is None or not session.url.startswith(self.page_schemes):
            raise RailUnavailableError("no page")
        return Instructions(reference=session.id, words=WORDS, redirect_url=session.url)

    @property
    def page_schemes(self) -> tuple[str, ...]:
        """How addresses of payment pages begin. Only a provider on this machine, as in tests, has pages without TLS."""
        return ("https://", "http://") if self.account.api_url.startswith("http://") else ("https://",)

    async def read_page(self, reference: str) -> CheckoutSession:
        """The current state of a payment page and its payment. Raises `RailUnavailableError` and `StripeError`."""
        expand = {"expand[]": EXPANDED}
        session = await self._client.get(f"/v1/checkout/sessions/{_page_id(reference)}", CheckoutSession, **expand)
        if not (session.livemode or self.account.takes_test_payments):
            raise RailUnavailableError("a payment of the provider's test mode")
        return session

    async def close_page(self, reference: str) -> None:
        """Close a payment page, so that nobody pays on it any more. Nothing happens if it has ended before.

        Raises `RailUnavailableError`.
        """
        try:
            path = f"/v1/checkout/sessions/{_page_id(reference)}/expire"
            await self._client.post(path, CheckoutSession, {}, f"close-{reference}")
        except StripeError as error:
            log.info("payment_page_not_closed", part=self.name, detail=str(error))

    async def find_reference(self, intent_id: str) -> str | None:
        """The reference of the provider's payment of this ID; None if it did not begin on one of our pages."""
        query = {"payment_intent": intent_id, "limit": "1"}
        found = await self._client.get("/v1/checkout/sessions", SessionList, **query)
        return next((session.id for session in found.data if session.client_reference_id), None)

    async def read_dispute(self, dispute_id: str) -> StripeDispute:
        """The current state of a dispute. Raises `RailUnavailableError` and `StripeError`."""
        return self._of_this_mode(await self._client.get(f"/v1/disputes/{dispute_id}", StripeDispute))

    async def list_disputes(self, since: datetime) -> AsyncIterator[list[StripeDispute]]:
        """Pages of the disputes that were opened since then, newest first. Raises as `read_dispute`."""
        query = {"created[gte]": str(int(since.timestamp())), "limit": str(DISPUTES_PER_PAGE)}
        for _ in range(DISPUTE_PAGES_MAX):
            page = await self._client.get("/v1/disputes", StripeDisputeList, **query)
            yield [self._of_this_mode(dispute) for dispute in page.data]
            if not page.has_more or not page.data:
                return
            query["starting_after"] = page.data[-1].id
        log.error("too_many_disputes", part=self.name)

    async def read_balance(self) -> list[ProviderBalance]:
        """The balance at the provider. Raises `RailUnavailableError`, `StripeError` and `InexactAmountError`."""
        balance = await self._client.get("/v1/balance", StripeBalance)
        if not (balance.livemode or self.account.takes_test_payments):
            raise RailUnavailableError("a balance of the provider's test mode")
        return read_amounts(balance)

    async def list_balance_transactions(
        self, since: datetime, until: datetime | None
    ) -> AsyncIterator[list[BalanceTransaction]]:
        """Pages of what changed the balance since then, newest first. The mode is that of the balance.

        Raises `RailUnavailableError` and `StripeError`. One whose amount has no equivalent here is left out and logged.
        """
        query = {
            "created[gte]": str(int(since.timestamp())),
            "limit": str(BALANCE_TRANSACTIONS_PER_PAGE),
            "expand[]": "data.source",
        }
        if until is not None:
            query["created[lte]"] = str(int(until.timestamp()))
        for _ in range(BALANCE_TRANSACTION_PAGES_MAX):
            page = await self._client.get("/v1/balance_transactions", StripeBalanceTransactionList, **query)
            yield [change for found in page.data if (change := self._read_transaction(found)) is not None]
            if not page.has_more or not page.data:
                return
            query["starting_after"] = page.data[-1].id
        raise RailUnavailableError("too many balance transactions")

    async def submit_evidence(self, order: DisputeOrder) -> DisputeSubmission:
        """Submit the evidence, if the dispute awaits it: afterwards it is under review, or decided."""
        form = evidence_form(order.evidence) | {"submit": "true"}
        return await self._respond(order, "", form)

    async def accept_dispute(self, order: DisputeOrder) -> DisputeSubmission:
        """Close the dispute, if it is open: it is lost then."""
        return await self._respond(order, "/close", {})

    def receiver_error(self, receiver: str) -> str | None:
        """Card refunds return to the card that paid."""
        is_payment = receiver.startswith(INTENT) and receiver.isascii() and receiver.replace("_", "").isalnum()
        return None if is_payment else "A card payment can only be refunded to the card that paid."

    def account_of(self, receiver: str) -> str:
        """Without surrounding spaces."""
        return receiver.strip()

    async def refund(self, order: RefundOrder) -> Submission:
        """Refund once per id: looked up first, since the provider forgets its idempotency keys after days."""
        try:
            intent = intent_of(await self.read_page(order.reference))
            if intent is None or order.receiver != intent.id:
                return Submission("rejected", failure_code="receiver_invalid")
            refund = await self._find_refund(order)
            if refund is None:
                form = {
                    "payment_intent": intent.id,
                    "amount": str(to_provider(order.currency, order.amount_minor)),
                    f"metadata[{REFUND}]": str(order.id),
                }
                refund = await self._client.post("/v1/refunds", StripeRefund, form, f"refund-{order.id}")
        except (StripeError, InexactAmountError) as error:
            log.warning("provider_refused", part=self.name, detail=str(error))
            return Submission("rejected", failure_code="refund_declined")
        except RailUnavailableError:
            return Submission("unknown")
        return Submission("accepted", refund.id)

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - it is asked now
        """What the provider says of the refund; pending if it does not answer."""
        try:
            refund = await self._find_refund(order)
        except (StripeError, RailUnavailableError):
            return RefundState("pending")
        if refund is None or refund.status in {None, "pending", "requires_action"}:
            return RefundState("pending")
        return RefundState("succeeded") if refund.status == "succeeded" else RefundState("failed", "refund_declined")

    async def payout(self, order: PayoutOrder) -> Submission:  # noqa: ARG002 - whatever it is
        """Money is not sent to cards."""
        return Submission("rejected", failure_code="receiver_invalid")

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:  # noqa: ARG002 - as above
        """There are none."""
        return PayoutState("absent")

    def _read_transaction(self, found: StripeBalanceTransaction) -> BalanceTransaction | None:
        try:
            return read_transaction(found)
        except InexactAmountError as error:
            log.error("provider_amount_invalid", part=self.name, detail=f"{found.id}: {error}")
            return None

    def _page(self, attempt: Attempt) -> dict[str, str]:
        """The request for a payment page: the same for the same attempt."""
        created_at = created_at_of(attempt.id)
        deadline = attempt.expires_at or created_at + PAGE_OPEN_MAX
        expires_at = min(max(deadline, created_at + PAGE_OPEN_MIN), created_at + PAGE_OPEN_MAX)
        price = "line_items[0][price_data]"
        separator = "&" if "?" in attempt.page_url else "?"
        form = {
            "mode": "payment",
            "payment_method_types[0]": "card",
            "client_reference_id": str(attempt.id),
            f"metadata[{PAYMENT}]": str(attempt.id),
            f"payment_intent_data[metadata][{PAYMENT}]": str(attempt.id),
            "line_items[0][quantity]": "1",
            f"{price}[currency]": attempt.currency.lower(),
            f"{price}[unit_amount]": str(to_provider(attempt.currency, attempt.amount_minor)),
            f"{price}[product_data][name]": attempt.payee[:NAME_CHARS_MAX] or "Payment",
            "success_url": f"{attempt.page_url}{separator}returned=1",
            "cancel_url": attempt.page_url,
            "expires_at": str(int(expires_at.timestamp())),
        }
        if self.account.statement_suffix:
            form["payment_intent_data[statement_descriptor_suffix]"] = self.account.statement_suffix
        return form

    async def _respond(self, order: DisputeOrder, path: str, form: dict[str, str]) -> DisputeSubmission:
        """Write to an open dispute. It is read first, since the provider forgets its idempotency keys after days."""
        if order.provider_reference is None:
            return DisputeSubmission("rejected")
        try:
            dispute = await self.read_dispute(order.provider_reference)
            if dispute.status == AWAITS_RESPONSE or (path and dispute.status not in CLOSED):
                key = f"dispute{path.replace('/', '-')}-{order.id}"
                dispute = await self._client.post(f"/v1/disputes/{dispute.id}{path}", StripeDispute, form, key)
        except StripeError as error:
            log.warning("provider_refused", part=self.name, detail=str(error))
            return DisputeSubmission("rejected")
        except RailUnavailableError:
            return DisputeSubmission("unknown")
        return DisputeSubmission("accepted", closed(dispute))

    def _of_this_mode(self, dispute: StripeDispute) -> StripeDispute:
        if not (dispute.livemode or self.account.takes_test_payments):
            raise RailUnavailableError("a dispute of the provider's test mode")
        return dispute

    async def _find_refund(self, order: RefundOrder) -> StripeRefund | None:
        """The refund of this order, by its ID in the metadata."""
        query = {"payment_intent": order.receiver, "limit": str(REFUNDS_PER_PAGE)}
        for _ in range(REFUND_PAGES_MAX):
            page = await self._client.get("/v1/refunds", StripeRefundList, **query)
            for refund in page.data:
                if (refund.metadata or {}).get(REFUND) == str(order.id):
                    return refund
            if not page.has_more or not page.data:
                return None
            query["starting_after"] = page.data[-1].id
        raise RailUnavailableError("too many refunds")


def _page_id(reference: str) -> str:
    """The ID of the page. The reference of an unmatched payment has that of its transfer behind it."""
    return reference.partition("/")[0]
