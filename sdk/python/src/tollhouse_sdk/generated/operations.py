"""A method for each operation of the Integration API. Made by `just records` from the API reference."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack, cast

from tollhouse_sdk.generated import models
from tollhouse_sdk.paths import segment


class Operations:
    """Each method is one request. Lists have a second method that reads every page."""

    @abstractmethod
    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        key: str | None,
        *,
        keyed: bool,
    ) -> Any: ...

    @abstractmethod
    def _pages(self, path: str, query: Mapping[str, Any], name: str) -> Iterator[Any]: ...

    def account(self) -> models.AccountView:
        """Retrieve the merchant account. With the limits of the credential, and what is left of them."""
        return self._send('GET', '/account', {}, None, None, keyed=False)

    def open_link(self, *, idempotency_key: str | None = None, **body: Unpack[models.LinkRequest]) -> models.LinkView:
        """Create a payment link."""
        return self._send('POST', '/payment-links', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_links(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['active', 'canceled', 'completed', 'expired']] | None = None, currency: str | None = None, project_id: str | None = None, external_id: str | None = None) -> models.LinkList:
        """List payment links. Newest first."""
        return self._send('GET', '/payment-links', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'project_id': project_id, 'external_id': external_id}, None, None, keyed=False)

    def iterate_links(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['active', 'canceled', 'completed', 'expired']] | None = None, currency: str | None = None, project_id: str | None = None, external_id: str | None = None) -> Iterator[models.LinkView]:
        """List payment links. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/payment-links', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'project_id': project_id, 'external_id': external_id}, 'payment_links')

    def read_link(self, link_id: str) -> models.LinkView:
        """Retrieve a payment link."""
        return self._send('GET', f'/payment-links/{segment(link_id)}', {}, None, None, keyed=False)

    def change_expiry(self, link_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.LinkExpiryRequest]) -> models.LinkView:
        """Change when an active payment link expires. It can be earlier or later."""
        return self._send('POST', f'/payment-links/{segment(link_id)}/expiry', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_currencies(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None) -> models.CurrencyList:
        """List currencies. Each has its decimals, networks and supported operations."""
        return self._send('GET', '/currencies', {'page': page, 'limit': limit, 'cursor': cursor}, None, None, keyed=False)

    def iterate_currencies(self, *, limit: int | None = None) -> Iterator[models.CurrencyView]:
        """List currencies. Each has its decimals, networks and supported operations. Reads every page, and yields one object at a time."""
        return self._pages('/currencies', {'limit': limit}, 'currencies')

    def list_methods(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, currency: str | None = None, amount: str | None = None, project_id: str | None = None) -> models.PaymentMethodList:
        """List payment methods. These are all of the hosted checkout; unavailable ones have a reason."""
        return self._send('GET', '/payment-methods', {'page': page, 'limit': limit, 'cursor': cursor, 'currency': currency, 'amount': amount, 'project_id': project_id}, None, None, keyed=False)

    def iterate_methods(self, *, limit: int | None = None, currency: str | None = None, amount: str | None = None, project_id: str | None = None) -> Iterator[models.PaymentMethodView]:
        """List payment methods. These are all of the hosted checkout; unavailable ones have a reason. Reads every page, and yields one object at a time."""
        return self._pages('/payment-methods', {'limit': limit, 'currency': currency, 'amount': amount, 'project_id': project_id}, 'payment_methods')

    def list_projects(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None) -> models.ProjectList:
        """List approved projects. Newest first."""
        return self._send('GET', '/projects', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to}, None, None, keyed=False)

    def iterate_projects(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None) -> Iterator[models.ProjectView]:
        """List approved projects. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/projects', {'limit': limit, 'created_from': created_from, 'created_to': created_to}, 'projects')

    def read_project(self, project_id: str) -> models.ProjectView:
        """Retrieve an approved project."""
        return self._send('GET', f'/projects/{segment(project_id)}', {}, None, None, keyed=False)

    def cancel_link(self, link_id: str, *, idempotency_key: str | None = None) -> models.LinkView:
        """Cancel a payment link. Canceling it again changes nothing."""
        return self._send('POST', f'/payment-links/{segment(link_id)}/cancel', {}, None, idempotency_key, keyed=True)

    def list_transactions(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['chargeback', 'expired', 'failed', 'partially_refunded', 'pending', 'processing', 'refund_required', 'refunded', 'succeeded']] | None = None, type: Literal['payment'] | None = None, currency: str | None = None, payment_link_id: str | None = None, method_id: str | None = None, project_id: str | None = None, external_id: str | None = None) -> models.TransactionList:
        """List transactions. Newest first."""
        return self._send('GET', '/transactions', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status, 'type': type, 'currency': currency, 'payment_link_id': payment_link_id, 'method_id': method_id, 'project_id': project_id, 'external_id': external_id}, None, None, keyed=False)

    def iterate_transactions(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['chargeback', 'expired', 'failed', 'partially_refunded', 'pending', 'processing', 'refund_required', 'refunded', 'succeeded']] | None = None, type: Literal['payment'] | None = None, currency: str | None = None, payment_link_id: str | None = None, method_id: str | None = None, project_id: str | None = None, external_id: str | None = None) -> Iterator[models.TransactionView]:
        """List transactions. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/transactions', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status, 'type': type, 'currency': currency, 'payment_link_id': payment_link_id, 'method_id': method_id, 'project_id': project_id, 'external_id': external_id}, 'transactions')

    def read_transaction(self, transaction_id: str) -> models.TransactionView:
        """Retrieve a transaction."""
        return self._send('GET', f'/transactions/{segment(transaction_id)}', {}, None, None, keyed=False)

    def accept(self, transaction_id: str, *, idempotency_key: str | None = None) -> models.TransactionView:
        """Accept a payment. It can be late, a duplicate, after a cancellation, or of another amount."""
        return self._send('POST', f'/transactions/{segment(transaction_id)}/accept', {}, None, idempotency_key, keyed=True)

    def list_balances(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None) -> models.BalanceList:
        """List balances. All are as of one moment."""
        return self._send('GET', '/balances', {'page': page, 'limit': limit, 'cursor': cursor}, None, None, keyed=False)

    def iterate_balances(self, *, limit: int | None = None) -> Iterator[models.BalanceView]:
        """List balances. All are as of one moment. Reads every page, and yields one object at a time."""
        return self._pages('/balances', {'limit': limit}, 'balances')

    def read_balance(self, code: str) -> models.BalanceView:
        """Retrieve a balance."""
        return self._send('GET', f'/balances/{segment(code)}', {}, None, None, keyed=False)

    def list_entries(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, currency: str | None = None, account: Literal['available', 'debt', 'pending', 'reserved'] | None = None, type: Literal['adjustment', 'balance_payment_in', 'balance_payment_out', 'balance_payment_refund', 'chargeback', 'chargeback_fee', 'chargeback_reversal', 'conversion_fee', 'conversion_in', 'conversion_out', 'fulfillment', 'fulfillment_refund', 'hold', 'network_fee', 'payment', 'payment_fee', 'refund', 'refund_reversal', 'release', 'settlement', 'test_funding', 'withdrawal', 'withdrawal_fee', 'withdrawal_return'] | None = None, source_type: str | None = None, source_id: str | None = None) -> models.EntryList:
        """List ledger entries. Newest first."""
        return self._send('GET', '/ledger', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'currency': currency, 'account': account, 'type': type, 'source_type': source_type, 'source_id': source_id}, None, None, keyed=False)

    def iterate_entries(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, currency: str | None = None, account: Literal['available', 'debt', 'pending', 'reserved'] | None = None, type: Literal['adjustment', 'balance_payment_in', 'balance_payment_out', 'balance_payment_refund', 'chargeback', 'chargeback_fee', 'chargeback_reversal', 'conversion_fee', 'conversion_in', 'conversion_out', 'fulfillment', 'fulfillment_refund', 'hold', 'network_fee', 'payment', 'payment_fee', 'refund', 'refund_reversal', 'release', 'settlement', 'test_funding', 'withdrawal', 'withdrawal_fee', 'withdrawal_return'] | None = None, source_type: str | None = None, source_id: str | None = None) -> Iterator[models.EntryView]:
        """List ledger entries. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/ledger', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'currency': currency, 'account': account, 'type': type, 'source_type': source_type, 'source_id': source_id}, 'ledger')

    def read_entry(self, entry_id: str) -> models.EntryView:
        """Retrieve a ledger entry."""
        return self._send('GET', f'/ledger/{segment(entry_id)}', {}, None, None, keyed=False)

    def request_refund(self, transaction_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.NewRefund]) -> models.RefundView:
        """Refund a payment. Refunds all that is left, or a part. By default it goes to the account that paid."""
        return self._send('POST', f'/transactions/{segment(transaction_id)}/refunds', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_refunds_of(self, transaction_id: str, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None) -> models.RefundList:
        """List the refunds of a transaction. Newest first."""
        return self._send('GET', f'/transactions/{segment(transaction_id)}/refunds', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to}, None, None, keyed=False)

    def iterate_refunds_of(self, transaction_id: str, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None) -> Iterator[models.RefundView]:
        """List the refunds of a transaction. Newest first. Reads every page, and yields one object at a time."""
        return self._pages(f'/transactions/{segment(transaction_id)}/refunds', {'limit': limit, 'created_from': created_from, 'created_to': created_to}, 'refunds')

    def list_refunds(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, transaction_id: str | None = None, status: Sequence[Literal['failed', 'pending', 'succeeded']] | None = None, currency: str | None = None, external_id: str | None = None) -> models.RefundList:
        """List refunds. Newest first."""
        return self._send('GET', '/refunds', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'transaction_id': transaction_id, 'status': status, 'currency': currency, 'external_id': external_id}, None, None, keyed=False)

    def iterate_refunds(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, transaction_id: str | None = None, status: Sequence[Literal['failed', 'pending', 'succeeded']] | None = None, currency: str | None = None, external_id: str | None = None) -> Iterator[models.RefundView]:
        """List refunds. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/refunds', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'transaction_id': transaction_id, 'status': status, 'currency': currency, 'external_id': external_id}, 'refunds')

    def read_refund(self, refund_id: str) -> models.RefundView:
        """Retrieve a refund."""
        return self._send('GET', f'/refunds/{segment(refund_id)}', {}, None, None, keyed=False)

    def list_disputes(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, transaction_id: str | None = None, status: Sequence[Literal['accepted', 'expired', 'lost', 'needs_response', 'under_review', 'won']] | None = None, currency: str | None = None, external_id: str | None = None) -> models.DisputeList:
        """List disputes. Newest first."""
        return self._send('GET', '/disputes', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'transaction_id': transaction_id, 'status': status, 'currency': currency, 'external_id': external_id}, None, None, keyed=False)

    def iterate_disputes(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, transaction_id: str | None = None, status: Sequence[Literal['accepted', 'expired', 'lost', 'needs_response', 'under_review', 'won']] | None = None, currency: str | None = None, external_id: str | None = None) -> Iterator[models.DisputeView]:
        """List disputes. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/disputes', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'transaction_id': transaction_id, 'status': status, 'currency': currency, 'external_id': external_id}, 'disputes')

    def read_dispute(self, dispute_id: str) -> models.DisputeView:
        """Retrieve a dispute."""
        return self._send('GET', f'/disputes/{segment(dispute_id)}', {}, None, None, keyed=False)

    def save_evidence(self, dispute_id: str, **body: Unpack[models.NewEvidence]) -> models.DisputeView:
        """Save evidence as a draft. Replaces the draft. Until it is submitted, nobody else reads it."""
        return self._send('PUT', f'/disputes/{segment(dispute_id)}/evidence', {}, cast(Any, body), None, keyed=False)

    def submit_dispute(self, dispute_id: str, *, idempotency_key: str | None = None) -> models.DisputeView:
        """Submit the saved evidence. It cannot be changed afterwards."""
        return self._send('POST', f'/disputes/{segment(dispute_id)}/submit', {}, None, idempotency_key, keyed=True)

    def accept_dispute(self, dispute_id: str, *, idempotency_key: str | None = None) -> models.DisputeView:
        """Accept a dispute. The customer keeps the amount. This cannot be undone."""
        return self._send('POST', f'/disputes/{segment(dispute_id)}/accept', {}, None, idempotency_key, keyed=True)

    def propose(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewProposal]) -> models.ProposalView:
        """Create a proposal. The operation runs when the merchant approves it. It needs the write scope of the operation."""
        return self._send('POST', '/proposals', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_proposals(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['approved', 'canceled', 'expired', 'failed', 'rejected', 'waiting']] | None = None) -> models.ProposalList:
        """List proposals. Newest first, those of this connection or API key."""
        return self._send('GET', '/proposals', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status}, None, None, keyed=False)

    def iterate_proposals(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['approved', 'canceled', 'expired', 'failed', 'rejected', 'waiting']] | None = None) -> Iterator[models.ProposalView]:
        """List proposals. Newest first, those of this connection or API key. Reads every page, and yields one object at a time."""
        return self._pages('/proposals', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status}, 'proposals')

    def read_proposal(self, proposal_id: str) -> models.ProposalView:
        """Retrieve a proposal."""
        return self._send('GET', f'/proposals/{segment(proposal_id)}', {}, None, None, keyed=False)

    def cancel_proposal(self, proposal_id: str, *, idempotency_key: str | None = None) -> models.ProposalView:
        """Cancel a proposal. Possible while it waits."""
        return self._send('POST', f'/proposals/{segment(proposal_id)}/cancel', {}, None, idempotency_key, keyed=True)

    def simulate_transaction(self, transaction_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.Simulation]) -> models.TransactionView:
        """Simulate a transaction. You decide what the customer and the bank do."""
        return self._send('POST', f'/test/transactions/{segment(transaction_id)}/simulate', {}, cast(Any, body), idempotency_key, keyed=True)

    def simulate_link(self, link_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.LinkSimulation]) -> models.TransactionView:
        """Simulate a payment of a link. Starts a transaction in the simulator, and simulates its outcome."""
        return self._send('POST', f'/test/payment-links/{segment(link_id)}/simulate', {}, cast(Any, body), idempotency_key, keyed=True)

    def simulate_refund(self, refund_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.RefundSimulation]) -> models.RefundView:
        """Simulate a refund. You decide what the operator and the bank do."""
        return self._send('POST', f'/test/refunds/{segment(refund_id)}/simulate', {}, cast(Any, body), idempotency_key, keyed=True)

    def fund(self, *, idempotency_key: str | None = None, **body: Unpack[models.Funding]) -> models.BalanceView:
        """Add test funds to a balance."""
        return self._send('POST', '/test/balances/fund', {}, cast(Any, body), idempotency_key, keyed=True)

    def advance_clock(self, *, idempotency_key: str | None = None, **body: Unpack[models.ClockAdvance]) -> models.ClockView:
        """Advance the test clock. Links that are due then expire."""
        return self._send('POST', '/test/clock/advance', {}, cast(Any, body), idempotency_key, keyed=True)

    def simulate_withdrawal(self, withdrawal_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.WithdrawalSimulation]) -> models.WithdrawalView:
        """Simulate a withdrawal. You decide what the operator and the bank do."""
        return self._send('POST', f'/test/withdrawals/{segment(withdrawal_id)}/simulate', {}, cast(Any, body), idempotency_key, keyed=True)

    def make_balance_payment(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewBalancePayment]) -> models.BalancePaymentView:
        """Create a balance payment. It pays the owner of an application from the merchant's balance, or reserves the amount."""
        return self._send('POST', '/balance-payments', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_balance_payments(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['captured', 'expired', 'partially_refunded', 'refunded', 'released', 'reserved']] | None = None, currency: str | None = None, external_id: str | None = None) -> models.BalancePaymentList:
        """List balance payments. Newest first. An access token lists those of its application, an API key lists all."""
        return self._send('GET', '/balance-payments', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'external_id': external_id}, None, None, keyed=False)

    def iterate_balance_payments(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['captured', 'expired', 'partially_refunded', 'refunded', 'released', 'reserved']] | None = None, currency: str | None = None, external_id: str | None = None) -> Iterator[models.BalancePaymentView]:
        """List balance payments. Newest first. An access token lists those of its application, an API key lists all. Reads every page, and yields one object at a time."""
        return self._pages('/balance-payments', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'external_id': external_id}, 'balance_payments')

    def read_balance_payment(self, payment_id: str) -> models.BalancePaymentView:
        """Retrieve a balance payment."""
        return self._send('GET', f'/balance-payments/{segment(payment_id)}', {}, None, None, keyed=False)

    def capture_balance_payment(self, payment_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.PartialAmount]) -> models.BalancePaymentView:
        """Capture a balance payment. Possible once. Confidential clients can capture a part; the rest is released."""
        return self._send('POST', f'/balance-payments/{segment(payment_id)}/capture', {}, cast(Any, body), idempotency_key, keyed=True)

    def release_balance_payment(self, payment_id: str, *, idempotency_key: str | None = None) -> models.BalancePaymentView:
        """Release a balance payment. Its reservation ends. The amount becomes available to the merchant again."""
        return self._send('POST', f'/balance-payments/{segment(payment_id)}/release', {}, None, idempotency_key, keyed=True)

    def refund_balance_payment(self, payment_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.PartialAmount]) -> models.BalancePaymentView:
        """Refund a balance payment. The money comes from the owner's balance, in full or in part."""
        return self._send('POST', f'/balance-payments/{segment(payment_id)}/refund', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_fulfillment_products(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None) -> models.FulfillmentProductList:
        """List fulfillment products. Unavailable ones have a reason."""
        return self._send('GET', '/fulfillment-products', {'page': page, 'limit': limit, 'cursor': cursor}, None, None, keyed=False)

    def iterate_fulfillment_products(self, *, limit: int | None = None) -> Iterator[models.ProductView]:
        """List fulfillment products. Unavailable ones have a reason. Reads every page, and yields one object at a time."""
        return self._pages('/fulfillment-products', {'limit': limit}, 'fulfillment_products')

    def order_fulfillment(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewFulfillment]) -> models.FulfillmentView:
        """Create a fulfillment. It orders a delivery to a player, paid from the balance."""
        return self._send('POST', '/fulfillments', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_fulfillments(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['canceled', 'completed', 'failed', 'partially_completed', 'pending', 'processing']] | None = None, product_id: str | None = None, currency: str | None = None, project_id: str | None = None, external_id: str | None = None) -> models.FulfillmentList:
        """List fulfillments. Newest first."""
        return self._send('GET', '/fulfillments', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status, 'product_id': product_id, 'currency': currency, 'project_id': project_id, 'external_id': external_id}, None, None, keyed=False)

    def iterate_fulfillments(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['canceled', 'completed', 'failed', 'partially_completed', 'pending', 'processing']] | None = None, product_id: str | None = None, currency: str | None = None, project_id: str | None = None, external_id: str | None = None) -> Iterator[models.FulfillmentView]:
        """List fulfillments. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/fulfillments', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status, 'product_id': product_id, 'currency': currency, 'project_id': project_id, 'external_id': external_id}, 'fulfillments')

    def read_fulfillment_statistics(self, *, from_: str | None = None, to: str | None = None, group_by: Literal['day', 'product', 'status'] | None = None, product_id: str | None = None, project_id: str | None = None) -> models.FulfillmentStatistics:
        """Retrieve fulfillment statistics. They cover a period, in total and by day, product or status."""
        return self._send('GET', '/fulfillments/statistics', {'from': from_, 'to': to, 'group_by': group_by, 'product_id': product_id, 'project_id': project_id}, None, None, keyed=False)

    def read_fulfillment(self, fulfillment_id: str) -> models.FulfillmentView:
        """Retrieve a fulfillment."""
        return self._send('GET', f'/fulfillments/{segment(fulfillment_id)}', {}, None, None, keyed=False)

    def cancel_fulfillment(self, fulfillment_id: str, *, idempotency_key: str | None = None) -> models.FulfillmentView:
        """Cancel a fulfillment. Possible while it is pending. The cost becomes available again."""
        return self._send('POST', f'/fulfillments/{segment(fulfillment_id)}/cancel', {}, None, idempotency_key, keyed=True)

    def simulate_fulfillment(self, fulfillment_id: str, *, idempotency_key: str | None = None, **body: Unpack[models.FulfillmentSimulation]) -> models.FulfillmentView:
        """Simulate a fulfillment. You decide what the game server answers."""
        return self._send('POST', f'/test/fulfillments/{segment(fulfillment_id)}/simulate', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_withdrawal_methods(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None) -> models.WithdrawalMethodList:
        """List withdrawal methods. Unavailable ones have a reason."""
        return self._send('GET', '/withdrawal-methods', {'page': page, 'limit': limit, 'cursor': cursor}, None, None, keyed=False)

    def iterate_withdrawal_methods(self, *, limit: int | None = None) -> Iterator[models.WithdrawalMethodView]:
        """List withdrawal methods. Unavailable ones have a reason. Reads every page, and yields one object at a time."""
        return self._pages('/withdrawal-methods', {'limit': limit}, 'withdrawal_methods')

    def quote_withdrawal(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewWithdrawalQuote]) -> models.WithdrawalQuoteView:
        """Create a withdrawal quote. Its costs are guaranteed for one minute. No money is reserved."""
        return self._send('POST', '/withdrawal-quotes', {}, cast(Any, body), idempotency_key, keyed=True)

    def request_withdrawal(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewWithdrawal]) -> models.WithdrawalView:
        """Create a withdrawal. The amount is reserved at once. In live mode an operator reviews it."""
        return self._send('POST', '/withdrawals', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_withdrawals(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['approved', 'canceled', 'completed', 'failed', 'pending_review', 'processing']] | None = None, currency: str | None = None, method_id: str | None = None, external_id: str | None = None, batch_id: str | None = None) -> models.WithdrawalList:
        """List withdrawals. Newest first."""
        return self._send('GET', '/withdrawals', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'method_id': method_id, 'external_id': external_id, 'batch_id': batch_id}, None, None, keyed=False)

    def iterate_withdrawals(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['approved', 'canceled', 'completed', 'failed', 'pending_review', 'processing']] | None = None, currency: str | None = None, method_id: str | None = None, external_id: str | None = None, batch_id: str | None = None) -> Iterator[models.WithdrawalView]:
        """List withdrawals. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/withdrawals', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'method_id': method_id, 'external_id': external_id, 'batch_id': batch_id}, 'withdrawals')

    def read_withdrawal(self, withdrawal_id: str) -> models.WithdrawalView:
        """Retrieve a withdrawal."""
        return self._send('GET', f'/withdrawals/{segment(withdrawal_id)}', {}, None, None, keyed=False)

    def cancel_withdrawal(self, withdrawal_id: str, *, idempotency_key: str | None = None) -> models.WithdrawalView:
        """Cancel a withdrawal. Possible until it is sent. The amount becomes available again."""
        return self._send('POST', f'/withdrawals/{segment(withdrawal_id)}/cancel', {}, None, idempotency_key, keyed=True)

    def list_recipients(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, method_id: str | None = None) -> models.SavedRecipientList:
        """List withdrawal recipients. Newest first."""
        return self._send('GET', '/withdrawal-recipients', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'method_id': method_id}, None, None, keyed=False)

    def iterate_recipients(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, method_id: str | None = None) -> Iterator[models.SavedRecipientView]:
        """List withdrawal recipients. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/withdrawal-recipients', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'method_id': method_id}, 'withdrawal_recipients')

    def add_recipient(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewRecipient]) -> models.SavedRecipientView:
        """Create a withdrawal recipient. It can be paid from `active_at` on. In live mode, all users get an email."""
        return self._send('POST', '/withdrawal-recipients', {}, cast(Any, body), idempotency_key, keyed=True)

    def read_recipient(self, recipient_id: str) -> models.SavedRecipientView:
        """Retrieve a withdrawal recipient."""
        return self._send('GET', f'/withdrawal-recipients/{segment(recipient_id)}', {}, None, None, keyed=False)

    def delete_recipient(self, recipient_id: str) -> models.SavedRecipientView:
        """Delete a withdrawal recipient. Its withdrawals are kept."""
        return self._send('DELETE', f'/withdrawal-recipients/{segment(recipient_id)}', {}, None, None, keyed=False)

    def read_withdrawal_settings(self) -> models.WithdrawalSettingsView:
        """Retrieve the withdrawal settings. They are those of the current environment."""
        return self._send('GET', '/settings/withdrawals', {}, None, None, keyed=False)

    def save_withdrawal_settings(self, **body: Unpack[models.NewWithdrawalSettings]) -> models.WithdrawalSettingsView:
        """Update the withdrawal settings. `saved_recipients_only` is turned off only after a cooling time."""
        return self._send('PUT', '/settings/withdrawals', {}, cast(Any, body), None, keyed=False)

    def list_batches(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None) -> models.WithdrawalBatchList:
        """List withdrawal batches. Newest first."""
        return self._send('GET', '/withdrawal-batches', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to}, None, None, keyed=False)

    def iterate_batches(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None) -> Iterator[models.WithdrawalBatchView]:
        """List withdrawal batches. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/withdrawal-batches', {'limit': limit, 'created_from': created_from, 'created_to': created_to}, 'withdrawal_batches')

    def create_batch(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewBatch]) -> models.WithdrawalBatchView:
        """Create a withdrawal batch. All of its withdrawals are created and their amounts reserved, or none."""
        return self._send('POST', '/withdrawal-batches', {}, cast(Any, body), idempotency_key, keyed=True)

    def read_batch(self, batch_id: str) -> models.WithdrawalBatchView:
        """Retrieve a withdrawal batch."""
        return self._send('GET', f'/withdrawal-batches/{segment(batch_id)}', {}, None, None, keyed=False)

    def list_schedules(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None) -> models.WithdrawalScheduleList:
        """List withdrawal schedules. Newest first."""
        return self._send('GET', '/withdrawal-schedules', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to}, None, None, keyed=False)

    def iterate_schedules(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None) -> Iterator[models.WithdrawalScheduleView]:
        """List withdrawal schedules. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/withdrawal-schedules', {'limit': limit, 'created_from': created_from, 'created_to': created_to}, 'withdrawal_schedules')

    def create_schedule(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewSchedule]) -> models.WithdrawalScheduleView:
        """Create a withdrawal schedule. It withdraws to a saved recipient at a time, or every day, week or month."""
        return self._send('POST', '/withdrawal-schedules', {}, cast(Any, body), idempotency_key, keyed=True)

    def read_schedule(self, schedule_id: str) -> models.WithdrawalScheduleDetails:
        """Retrieve a withdrawal schedule. With its latest 100 runs."""
        return self._send('GET', f'/withdrawal-schedules/{segment(schedule_id)}', {}, None, None, keyed=False)

    def end_schedule(self, schedule_id: str) -> models.WithdrawalScheduleView:
        """End a withdrawal schedule. Its withdrawals are kept."""
        return self._send('DELETE', f'/withdrawal-schedules/{segment(schedule_id)}', {}, None, None, keyed=False)

    def pause_schedule(self, schedule_id: str, *, idempotency_key: str | None = None) -> models.WithdrawalScheduleView:
        """Pause a withdrawal schedule. Its times pass without withdrawals."""
        return self._send('POST', f'/withdrawal-schedules/{segment(schedule_id)}/pause', {}, None, idempotency_key, keyed=True)

    def resume_schedule(self, schedule_id: str, *, idempotency_key: str | None = None) -> models.WithdrawalScheduleView:
        """Resume a withdrawal schedule. It runs at its next time."""
        return self._send('POST', f'/withdrawal-schedules/{segment(schedule_id)}/resume', {}, None, idempotency_key, keyed=True)

    def list_pairs(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None) -> models.ConversionPairList:
        """List currency pairs. Unavailable ones have a reason."""
        return self._send('GET', '/conversion-pairs', {'page': page, 'limit': limit, 'cursor': cursor}, None, None, keyed=False)

    def iterate_pairs(self, *, limit: int | None = None) -> Iterator[models.ConversionPairView]:
        """List currency pairs. Unavailable ones have a reason. Reads every page, and yields one object at a time."""
        return self._pages('/conversion-pairs', {'limit': limit}, 'conversion_pairs')

    def quote_conversion(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewConversionQuote]) -> models.ConversionQuoteView:
        """Create a conversion quote. It is guaranteed for 30 seconds. No money is reserved."""
        return self._send('POST', '/conversion-quotes', {}, cast(Any, body), idempotency_key, keyed=True)

    def convert(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewConversion]) -> models.ConversionView:
        """Create a conversion. It converts an amount of the balance to another currency."""
        return self._send('POST', '/conversions', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_conversions(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['completed']] | None = None, currency: str | None = None, rule_id: str | None = None, external_id: str | None = None) -> models.ConversionList:
        """List conversions. Newest first."""
        return self._send('GET', '/conversions', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'rule_id': rule_id, 'external_id': external_id}, None, None, keyed=False)

    def iterate_conversions(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, status: Sequence[Literal['completed']] | None = None, currency: str | None = None, rule_id: str | None = None, external_id: str | None = None) -> Iterator[models.ConversionView]:
        """List conversions. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/conversions', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'status': status, 'currency': currency, 'rule_id': rule_id, 'external_id': external_id}, 'conversions')

    def read_conversion(self, conversion_id: str) -> models.ConversionView:
        """Retrieve a conversion."""
        return self._send('GET', f'/conversions/{segment(conversion_id)}', {}, None, None, keyed=False)

    def list_rules(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None) -> models.ConversionRuleList:
        """List conversion rules. Newest first."""
        return self._send('GET', '/conversion-rules', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to}, None, None, keyed=False)

    def iterate_rules(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None) -> Iterator[models.ConversionRuleView]:
        """List conversion rules. Newest first. Reads every page, and yields one object at a time."""
        return self._pages('/conversion-rules', {'limit': limit, 'created_from': created_from, 'created_to': created_to}, 'conversion_rules')

    def make_rule(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewConversionRule]) -> models.ConversionRuleView:
        """Create a conversion rule. It converts a share of each payment, or of the balance when it reaches a threshold."""
        return self._send('POST', '/conversion-rules', {}, cast(Any, body), idempotency_key, keyed=True)

    def read_rule(self, rule_id: str) -> models.ConversionRuleView:
        """Retrieve a conversion rule."""
        return self._send('GET', f'/conversion-rules/{segment(rule_id)}', {}, None, None, keyed=False)

    def change_rule(self, rule_id: str, **body: Unpack[models.ConversionRuleUpdate]) -> models.ConversionRuleView:
        """Update a conversion rule. Send all members."""
        return self._send('PUT', f'/conversion-rules/{segment(rule_id)}', {}, cast(Any, body), None, keyed=False)

    def end_rule(self, rule_id: str) -> models.ConversionRuleView:
        """Delete a conversion rule. Its conversions are kept."""
        return self._send('DELETE', f'/conversion-rules/{segment(rule_id)}', {}, None, None, keyed=False)

    def financial_summary(self, *, from_: str | None = None, to: str | None = None, currency: str | None = None, project_id: str | None = None, group_by: Literal['day', 'month', 'none'] | None = None) -> models.FinancialReport:
        """Retrieve a financial summary. It shows what changed the balances in a period, by currency, as JSON or CSV."""
        return self._send('GET', '/reports/financial-summary', {'from': from_, 'to': to, 'currency': currency, 'project_id': project_id, 'group_by': group_by}, None, None, keyed=False)

    def read_settings(self) -> models.SettingsView:
        """Retrieve the settings. They are those of the current environment."""
        return self._send('GET', '/settings', {}, None, None, keyed=False)

    def save_settings(self, **body: Unpack[models.NewSettings]) -> models.SettingsView:
        """Update the settings. Replaces those of the current environment. Needs the version that was read."""
        return self._send('PUT', '/settings', {}, cast(Any, body), None, keyed=False)

    def read_configuration(self) -> models.WebhookConfiguration | None:
        """Retrieve the webhook configuration. Null before the first PUT and after the end of compatibility."""
        return self._send('GET', '/webhook', {}, None, None, keyed=False)

    def save_configuration(self, **body: Unpack[models.NewConfiguration]) -> models.WebhookConfiguration:
        """Save the webhook configuration. The first answer includes the new signing secret."""
        return self._send('PUT', '/webhook', {}, cast(Any, body), None, keyed=False)

    def switch_delivery_off(self) -> models.WebhookConfiguration | None:
        """Turn off webhook delivery. Applies to the current environment."""
        return self._send('DELETE', '/webhook', {}, None, None, keyed=False)

    def rotate_secret(self, **body: Unpack[models.SigningSecretRotation]) -> models.SecretView:
        """Rotate the signing secret. The new value is returned once."""
        return self._send('POST', '/webhook/rotate-secret', {}, cast(Any, body), None, keyed=False)

    def send_test_event(self, *, idempotency_key: str | None = None, **body: Unpack[models.NewTestEvent]) -> models.EventView:
        """Send a test event. It is signed, sent once to the given URL, and recorded."""
        return self._send('POST', '/webhook/test', {}, cast(Any, body), idempotency_key, keyed=True)

    def list_events(self, *, page: int | None = None, limit: int | None = None, cursor: str | None = None, created_from: str | None = None, created_to: str | None = None, type: Sequence[Literal['balance.updated', 'conversion.completed', 'payment.chargeback', 'payment.expired', 'payment.failed', 'payment.refund_required', 'payment.refunded', 'payment.succeeded', 'webhook.test', 'withdrawal.completed', 'withdrawal.failed', 'withdrawal.processing']] | None = None, status: Sequence[Literal['canceled', 'delivered', 'failed', 'held', 'pending', 'retrying', 'skipped']] | None = None, resource_id: str | None = None) -> models.EventList:
        """List events. They have their delivery status; newest first."""
        return self._send('GET', '/webhook-events', {'page': page, 'limit': limit, 'cursor': cursor, 'created_from': created_from, 'created_to': created_to, 'type': type, 'status': status, 'resource_id': resource_id}, None, None, keyed=False)

    def iterate_events(self, *, limit: int | None = None, created_from: str | None = None, created_to: str | None = None, type: Sequence[Literal['balance.updated', 'conversion.completed', 'payment.chargeback', 'payment.expired', 'payment.failed', 'payment.refund_required', 'payment.refunded', 'payment.succeeded', 'webhook.test', 'withdrawal.completed', 'withdrawal.failed', 'withdrawal.processing']] | None = None, status: Sequence[Literal['canceled', 'delivered', 'failed', 'held', 'pending', 'retrying', 'skipped']] | None = None, resource_id: str | None = None) -> Iterator[models.EventView]:
        """List events. They have their delivery status; newest first. Reads every page, and yields one object at a time."""
        return self._pages('/webhook-events', {'limit': limit, 'created_from': created_from, 'created_to': created_to, 'type': type, 'status': status, 'resource_id': resource_id}, 'webhook_events')

    def read_event(self, event_id: str) -> models.EventWithHistory:
        """Retrieve an event. It has its delivery history."""
        return self._send('GET', f'/webhook-events/{segment(event_id)}', {}, None, None, keyed=False)

    def redeliver_event(self, event_id: str, *, idempotency_key: str | None = None) -> models.EventView:
        """Redeliver an event."""
        return self._send('POST', f'/webhook-events/{segment(event_id)}/redeliver', {}, None, idempotency_key, keyed=True)

    def read_feed(self, *, after: int | None = None, limit: int | None = None, types: str | None = None, wait: int | None = None, feed_id: str | None = None) -> models.FeedPage:
        """Read the event feed. Events of the environment in the order of their positions, oldest first."""
        return self._send('GET', '/events', {'after': after, 'limit': limit, 'types': types, 'wait': wait, 'feed_id': feed_id}, None, None, keyed=False)

    def read_request_log(self, *, limit: int | None = None, before: str | None = None) -> models.OwnRequests:
        """Read the request log. Requests of the last days, newest first, without what was sent and answered."""
        return self._send('GET', '/request-log', {'limit': limit, 'before': before}, None, None, keyed=False)
