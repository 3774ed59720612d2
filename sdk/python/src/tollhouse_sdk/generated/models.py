"""Typed dictionaries of requests, responses and events. Made by `just records` from the API reference."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class TaxLineRequest(TypedDict):
    """A tax that is included in the amount: its name, as the receipt shows it, and its amount in the link's currency."""

    name: str
    """Name and rate of the tax, such as `VAT 19%`."""
    amount: str
    """Decimal string above zero, at most `decimals` digits after the point."""


class LineItemRequest(TypedDict):
    """A line of what is sold: its name, how many, and the price of one in the link's currency, with its taxes."""

    name: str
    """Name of the item."""
    quantity: NotRequired[int]
    """Number of items."""
    unit_amount: str
    """Decimal string, zero or above, at most `decimals` digits after the point."""


class QuantityRequest(TypedDict):
    """How many customers can buy with one payment. The link's amount is the price of one."""

    min: NotRequired[int]
    """Smallest quantity."""
    max: int
    """Largest quantity."""


class CustomerAmountRequest(TypedDict):
    """The amounts that customers can choose, and the one that the checkout suggests, if any."""

    min: str
    """Decimal string above zero, at most `decimals` digits after the point."""
    max: str
    """Decimal string above zero, at most `decimals` digits after the point."""
    preset: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""


class LinkExpiryRequest(TypedDict):
    """The body of POST /payment-links/{id}/expiry. Its bounds depend on the test clock and are checked with the link."""

    expires_at: str
    """When the object expires."""


class NewRefund(TypedDict):
    """The request body. No amount: all that is left. No receiver: the account that paid."""

    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    reason: NotRequired[Literal['customer_request', 'duplicate', 'fraudulent', 'other', 'service_issue']]
    """Why you refund the payment."""
    receiver: NotRequired[str | None]
    """Account to refund to. If omitted, the money goes to the account that paid."""
    external_id: NotRequired[str | None]
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: NotRequired[dict[str, Any] | None]
    """Your own names and values, for example to find the order again."""


class NewEvidence(TypedDict):
    """The evidence to save. It replaces what was saved before."""

    product_description: NotRequired[str | None]
    """What was sold."""
    customer_name: NotRequired[str | None]
    """Name of the customer."""
    customer_email_address: NotRequired[str | None]
    """Email address of the customer."""
    customer_purchase_ip: NotRequired[str | None]
    """IP address that the customer ordered from."""
    customer_communication: NotRequired[str | None]
    """Messages between you and the customer about the order."""
    billing_address: NotRequired[str | None]
    """Billing address of the customer."""
    shipping_address: NotRequired[str | None]
    """Address that the goods were sent to."""
    shipping_carrier: NotRequired[str | None]
    """Carrier that delivered the goods."""
    shipping_date: NotRequired[str | None]
    """Day on which the goods were sent."""
    shipping_tracking_number: NotRequired[str | None]
    """Tracking number of the carrier."""
    service_date: NotRequired[str | None]
    """Day on which the service was provided."""
    service_documentation: NotRequired[str | None]
    """What shows that the service was provided."""
    access_activity_log: NotRequired[str | None]
    """When the customer signed in to or downloaded a digital product."""
    refund_policy: NotRequired[str | None]
    """Your refund policy, and why no refund was due."""
    cancellation_policy: NotRequired[str | None]
    """Your cancellation policy."""
    cancellation_rebuttal: NotRequired[str | None]
    """Why the order was not canceled."""
    duplicate_charge_explanation: NotRequired[str | None]
    """How this payment differs from a payment it seems to repeat."""
    uncategorized_text: NotRequired[str | None]
    """Anything else that supports you."""


class NewProposal(TypedDict):
    """An operation to propose to the merchant."""

    operation: Literal['balance_payments', 'conversions', 'fulfillments', 'refunds', 'withdrawals']
    """What is proposed: the operation that creates such an object. It needs the write scope of that."""
    body: dict[str, Any]
    """The body of the operation. It cannot have a `quote_id`; that of a refund has the `transaction_id`, too."""


class Simulation(TypedDict):
    """The outcome to simulate. `amount` applies to outcomes that move money and has a default."""

    outcome: Literal['chargeback', 'chargeback_lost', 'chargeback_won', 'duplicate', 'expire', 'fail', 'late', 'overpay', 'processing', 'succeed', 'underpay']
    """What the customer and the bank do. See [Test mode](/docs/test-mode.md)."""
    amount: NotRequired[str]
    """Amount that the customer pays, for outcomes with another amount."""
    failure_code: NotRequired[Literal['canceled_by_customer', 'card_declined', 'double_spend', 'expired_method', 'insufficient_funds'] | None]
    """Why the payment fails, for the outcome `fail`."""


class LinkSimulation(TypedDict):
    """The payment to simulate. `quantity` and `customer_amount` are what the customer of such a link chooses."""

    outcome: Literal['chargeback', 'chargeback_lost', 'chargeback_won', 'duplicate', 'expire', 'fail', 'late', 'overpay', 'processing', 'succeed', 'underpay']
    """What the customer and the bank do. See [Test mode](/docs/test-mode.md)."""
    amount: NotRequired[str]
    """Amount that the customer pays, for outcomes with another amount."""
    failure_code: NotRequired[Literal['canceled_by_customer', 'card_declined', 'double_spend', 'expired_method', 'insufficient_funds'] | None]
    """Why the payment fails, for the outcome `fail`."""
    quantity: NotRequired[int | None]
    """How many the customer chooses, if the link has a `quantity`."""
    customer_amount: NotRequired[str]
    """Amount that the customer chooses, if the link has a `customer_amount`."""


class RefundSimulation(TypedDict):
    """The outcome to simulate; `return`: the bank returns it later. A refund under review is approved first."""

    outcome: Literal['approve', 'fail', 'reject', 'return', 'succeed']
    """What the operator and the bank do."""


class Funding(TypedDict):
    """The amount of test funds."""

    currency: str
    """Currency code, such as `EUR`."""
    amount: str
    """Decimal string above zero, at most `decimals` digits after the point."""


class ClockAdvance(TypedDict):
    """How far to advance the clock."""

    seconds: int
    """Number of seconds to move the clock forward."""


class WithdrawalSimulation(TypedDict):
    """The outcome to simulate. `return`: it arrives and is returned; `stick`: its outcome stays unknown."""

    outcome: Literal['approve', 'complete', 'fail', 'process', 'reject', 'return', 'stick']
    """What the operator and the bank do."""


class NewBalancePayment(TypedDict):
    """
    A payment to make. With `capture` false the amount is only reserved, for at most `expires_in` seconds.

    `oauth_client_id` names the application whose owner is paid: required with an API key, implied by an access token.
    """

    amount: str
    """Decimal string above zero, at most `decimals` digits after the point."""
    currency: str
    """Currency code, such as `EUR`."""
    capture: NotRequired[bool]
    """If `false`, the amount is reserved, and captured by another request."""
    expires_in: NotRequired[int | None]
    """Number of seconds until a reservation is released."""
    description: NotRequired[str | None]
    """What the payment is for."""
    external_id: NotRequired[str | None]
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: NotRequired[dict[str, Any] | None]
    """Your own names and values, for example to find the order again."""
    oauth_client_id: NotRequired[str | None]
    """ID of the application. Null for API keys and the dashboard."""


class PartialAmount(TypedDict):
    """The amount to capture or refund. Omitted: all of it."""

    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""


class NewFulfillment(TypedDict):
    """A fulfillment to order. `max_cost` is the highest acceptable cost, in the product's currency."""

    product_id: str
    """ID of a product from the list of products."""
    quantity: int
    """Number of units to deliver."""
    recipient: dict[str, Any]
    """The player, as the JSON Schema `recipient_schema` of the product describes."""
    project_id: NotRequired[str | None]
    """ID of an approved project."""
    max_cost: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""
    external_id: NotRequired[str | None]
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: NotRequired[dict[str, Any] | None]
    """Your own names and values, for example to find the order again."""


class FulfillmentSimulation(TypedDict):
    """The answer to simulate. `partial`: half of the quantity, rounded up."""

    outcome: Literal['complete', 'fail', 'partial']
    """What the game server answers."""


class NewWithdrawalQuote(TypedDict):
    """The amount and method to quote. The fee mode defaults to `deduct` where the method has it."""

    method_id: str
    """ID of a method from the list of methods."""
    amount: str
    """Decimal string above zero, at most `decimals` digits after the point."""
    network_fee_mode: NotRequired[Literal['add', 'deduct'] | None]
    """`deduct` takes fees from the amount, `add` adds them to it. Default: `deduct`."""


class NewWithdrawal(TypedDict):
    """
    A withdrawal to create. With `quote_id` the fees are those of the quote, whose method and amount must be the same.

    It has either a `receiver`, or the `recipient_id` of a saved one. `provider_fields` then has only what belongs to the
    transfer, such as `reference`.
    """

    method_id: str
    """ID of a method from the list of methods."""
    amount: str
    """Decimal string above zero, at most `decimals` digits after the point."""
    receiver: NotRequired[str | None]
    """Account that receives the money, such as an IBAN or an address."""
    recipient_id: NotRequired[str | None]
    """ID of a saved recipient, instead of `receiver`."""
    network_fee_mode: NotRequired[Literal['add', 'deduct'] | None]
    """`deduct` takes fees from the amount, `add` adds them to it. Default: `deduct`."""
    provider_fields: NotRequired[dict[str, Any]]
    """Further members, described by the JSON Schema `provider_fields` of the method."""
    quote_id: NotRequired[str | None]
    """ID of a quote to use. A quote can be used once."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""
    external_id: NotRequired[str | None]
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    description: NotRequired[str | None]
    """Your own note."""
    metadata: NotRequired[dict[str, Any] | None]
    """Your own names and values, for example to find the order again."""


class NewRecipient(TypedDict):
    """A recipient to save. `receiver` and `provider_fields` are as in a withdrawal, without a reference."""

    name: str
    """Name under which the recipient is listed."""
    method_id: str
    """ID of a method from the list of methods."""
    receiver: str
    """Account that receives the money, such as an IBAN or an address."""
    provider_fields: NotRequired[dict[str, Any]]
    """Further members, described by the JSON Schema `provider_fields` of the method."""


class NewWithdrawalSettings(TypedDict):
    """The body of PUT /settings/withdrawals."""

    saved_recipients_only: bool
    """Whether withdrawals go only to saved recipients."""


class NewBatch(TypedDict):
    """Withdrawals to create together: each as in POST /withdrawals, without `quote_id`."""

    items: list[NewWithdrawal]
    """The withdrawals to create, 1 to 500."""
    description: NotRequired[str | None]
    """Your own description of the batch."""


class NewSchedule(TypedDict):
    """
    A schedule to create: of `amount`, or of everything above `keep`.

    `scheduled_for` is for the frequency `once`, `day` for `weekly` (1 is Monday) and `monthly`.
    """

    recipient_id: str
    """ID of a saved recipient, instead of `receiver`."""
    frequency: Literal['daily', 'monthly', 'once', 'weekly']
    """How often it runs. Recurring schedules run at 06:00 in the time zone of the merchant."""
    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    keep: NotRequired[str]
    """Decimal string, zero or above, at most `decimals` digits after the point."""
    scheduled_for: NotRequired[str | None]
    """When a schedule of the frequency `once` runs, at most 90 days ahead."""
    day: NotRequired[int | None]
    """Weekday from Monday as 1, or day of the month; in a shorter month the last one."""
    description: NotRequired[str | None]
    """Description of its withdrawals."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""


class NewConversionQuote(TypedDict):
    """A pair and either the amount to convert or the amount to receive."""

    from_currency: str
    """Currency that you convert."""
    to_currency: str
    """Currency that you receive."""
    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    to_amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""


class NewConversion(TypedDict):
    """A conversion to make: by a quote, or of an amount at the current rate."""

    quote_id: NotRequired[str | None]
    """ID of a quote to use. A quote can be used once."""
    from_currency: NotRequired[str | None]
    """Currency that you convert."""
    to_currency: NotRequired[str | None]
    """Currency that you receive."""
    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    min_to_amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""
    external_id: NotRequired[str | None]
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: NotRequired[dict[str, Any] | None]
    """Your own names and values, for example to find the order again."""


class NewConversionRule(TypedDict):
    """A rule to create. `threshold` is for the trigger `on_threshold` only."""

    from_currency: str
    """Currency that you convert."""
    to_currency: str
    """Currency that you receive."""
    trigger: Literal['on_payment', 'on_threshold']
    """`on_payment` converts a share of each payment, `on_threshold` a share of the balance when it reaches `threshold`."""
    threshold: NotRequired[str]
    """Balance from which the rule `on_threshold` converts."""
    percent: NotRequired[int]
    """Share to convert, in percent."""
    enabled: NotRequired[bool]
    """Whether it is active."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""


class ConversionRuleUpdate(TypedDict):
    """The complete updated rule; `version` is the one that was retrieved."""

    from_currency: str
    """Currency that you convert."""
    to_currency: str
    """Currency that you receive."""
    trigger: Literal['on_payment', 'on_threshold']
    """`on_payment` converts a share of each payment, `on_threshold` a share of the balance when it reaches `threshold`."""
    threshold: NotRequired[str]
    """Balance from which the rule `on_threshold` converts."""
    percent: NotRequired[int]
    """Share to convert, in percent."""
    enabled: NotRequired[bool]
    """Whether it is active."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""
    version: int
    """Increases with each change of the object."""


class MethodChoice(TypedDict):
    """Whether a method is enabled. Methods that are not listed are enabled."""

    method_id: str
    """ID of a method from the list of methods."""
    enabled: bool
    """Whether it is active."""


class Branding(TypedDict):
    """The branding of the checkout page."""

    display_name: NotRequired[str | None]
    logo_url: NotRequired[str | None]
    accent_color: NotRequired[str | None]
    support_email: NotRequired[str | None]
    support_phone: NotRequired[str | None]
    support_url: NotRequired[str | None]


class NewConfiguration(TypedDict):
    """The body of PUT /webhook: the URL for requests without `webhook_url`, and its event types."""

    url: str
    """URL of the page or endpoint."""
    event_types: list[str]
    """Types of events to send."""
    enabled: NotRequired[bool]
    """Whether it is active."""


class SigningSecretRotation(TypedDict):
    """The body of POST /webhook/rotate-secret."""

    overlap_hours: NotRequired[int]
    """Hours during which the old secret signs beside the new one."""


class NewTestEvent(TypedDict):
    """The body of POST /webhook/test."""

    url: str
    """URL of the page or endpoint."""


class RemainingLimitView(TypedDict):
    """A limit, and what it leaves now, to all connections of an application together."""

    kind: Literal['balance_payments', 'conversions', 'fulfillments', 'refunds', 'withdrawals']
    """What is limited."""
    currency: str
    """Currency code, such as `EUR`."""
    per_transaction: str | None
    """Most of each one; null if there is no such limit."""
    per_transaction_minor: int | None
    """`per_transaction` in minor units, such as cents."""
    per_day: str | None
    """Most within 24 hours; null if there is no such limit."""
    per_day_minor: int | None
    """`per_day` in minor units, such as cents."""
    per_month: str | None
    """Most within 30 days; null if there is no such limit."""
    per_month_minor: int | None
    """`per_month` in minor units, such as cents."""
    per_day_remaining: str | None
    """What `per_day` leaves now; null if there is no such limit."""
    per_day_remaining_minor: int | None
    """`per_day_remaining` in minor units, such as cents."""
    per_month_remaining: str | None
    """What `per_month` leaves now; null if there is no such limit."""
    per_month_remaining_minor: int | None
    """`per_month_remaining` in minor units, such as cents."""


class TaxLineView(TypedDict):
    """A tax that is included in the amount."""

    name: str
    """Name and rate of the tax."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""


class LineItemView(TypedDict):
    """A line of what is sold."""

    name: str
    """Name of the item."""
    quantity: int
    """Number of items."""
    unit_amount: str
    """Price of one item, taxes included."""
    unit_amount_minor: int
    """`unit_amount` in minor units, such as cents."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""


class QuantityRange(TypedDict):
    """How many of what a link sells can be bought with one payment. The customer chooses."""

    min: int
    """Smallest quantity."""
    max: int
    """Largest quantity."""


class CustomerAmountView(TypedDict):
    """The amounts that the customer can choose. `preset` is what the checkout suggests."""

    min: str
    """Smallest amount."""
    min_minor: int
    """`min` in minor units, such as cents."""
    max: str
    """Largest amount."""
    max_minor: int
    """`max` in minor units, such as cents."""
    preset: str | None
    """Amount that the checkout suggests."""
    preset_minor: int | None
    """`preset` in minor units, such as cents."""


class LinkCreator(TypedDict):
    """The creator of a link: an API key, an application or a dashboard user."""

    type: Literal['api_key', 'dashboard', 'oauth']
    """Kind of creator."""
    oauth_client_id: str | None
    """ID of the application. Null for API keys and the dashboard."""


class CurrencyOperations(TypedDict):
    """The operations a currency supports."""

    balances: bool
    """Whether a balance can be held in it."""
    payments: bool
    """Whether payment links can have it."""
    withdrawals: bool
    """Whether it can be withdrawn."""
    conversions: bool
    """Whether it can be converted."""


class Chain(TypedDict):
    """A network that carries the currency. `deposit` does not imply `withdrawal`."""

    network: str
    """Name of the network."""
    asset_id: str | None
    """Contract of the token; null for the network's own coin."""
    onchain_decimals: int
    """Digits after the point of amounts on the network."""
    confirmations: str
    """When a transfer counts as final: a number of blocks, or `finalized`."""
    deposit: bool
    """Whether payments can arrive on it."""
    withdrawal: bool
    """Whether withdrawals can leave on it."""


class Fees(TypedDict):
    """
    The platform's fee: a fixed part and a share, within bounds. Zero by default.

    `chargeback_minor` is charged for each dispute, whatever its outcome.
    """

    fixed_minor: int
    """Fixed part of the fee, in minor units."""
    basis_points: int
    """Share of the amount, in hundredths of a percent."""
    minimum_minor: int
    """Smallest fee, in minor units."""
    maximum_minor: int | None
    """Largest fee, in minor units; null is unlimited."""
    chargeback_minor: int
    """Fee for a chargeback, in minor units."""


class ProjectView(TypedDict):
    """An approved project."""

    id: str
    """ID of the object."""
    object: Literal['project']
    """Type of the object."""
    name: str
    """Name of the project, which customers see."""
    status: Literal['approved']
    """Always `approved`: other projects are not listed."""
    website_url: str | None
    """Website, which is shown to merchants and customers."""
    description: str | None
    """What the project sells."""
    default_currency: str
    """Shown with each project. Nothing is converted into it."""
    payment_method_ids: list[str]
    """Payment methods to offer. If omitted, every available method is offered."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class PriceView(TypedDict):
    """
    The price of a payment in another currency, and the rate that was fixed for it: before the margin, in major units.

    The amounts of the transaction are in the currency that is paid. Money that comes after `rate_expires_at` is late.
    """

    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    rate: str
    """Rate before the margin, in major units."""
    rate_as_of: str
    """When the rate was published."""
    rate_source: str
    """Who published the rate."""
    rate_expires_at: str
    """Until when the rate is fixed; later money is late."""
    margin_bps: int
    """Margin on the rate, in hundredths of a percent."""
    settlement: Literal['convert', 'keep']
    """What happens to the money that is paid."""


class PaymentDetails(TypedDict):
    """How the customer paid. Members a rail does not have are null."""

    network: str
    """Network or rail that the customer used."""
    asset: str
    """What the customer paid with."""
    pay_amount: str | None
    """Amount to pay, in the asset."""
    pay_amount_onchain: str | None
    """Amount to pay, in the smallest unit of the network."""
    address: str | None
    """Address or account to pay to."""
    tx_hashes: list[str]
    """Hashes of the transfers that arrived."""
    confirmations: int | None
    """Confirmations so far."""
    required_confirmations: int | None
    """Confirmations after which the payment is final."""
    rate: str | None
    """Rate in major units, before the margin."""
    payer_hint: str | None
    """Part of the paying account, to recognize it."""


class ChargebackView(TypedDict):
    """The latest chargeback of a transaction."""

    id: str
    """ID of the object."""
    status: Literal['lost', 'open', 'won']
    """State of the chargeback."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    fee: str
    """Fee of the chargeback."""
    fee_minor: int
    """`fee` in minor units, such as cents."""
    reason: str
    """Reason that the customer gave to the bank."""
    opened_at: str
    """When the bank reported it."""
    closed_at: str | None
    """When it was decided; null before."""


class ExchangeView(TypedDict):
    """What the money of a refund costs: at the current rate, before the margin. The fee is the margin, included."""

    from_currency: str
    """Currency that you convert."""
    from_amount: str
    """What the refund costs in the currency of the balance."""
    from_amount_minor: int
    """`from_amount` in minor units, such as cents."""
    to_currency: str
    """Currency that you receive."""
    to_amount: str
    """Amount to receive, instead of `amount`."""
    to_amount_minor: int
    """`to_amount` in minor units, such as cents."""
    rate: str
    """Rate in major units, before the margin."""
    rate_as_of: str
    """When the rate was published; null if there is none."""
    fee: str
    """Margin, which `from_amount` includes."""
    fee_minor: int
    """`fee` in minor units, such as cents."""


class TimelineEntryView(TypedDict):
    """An entry of the timeline."""

    status: Literal['chargeback', 'expired', 'failed', 'partially_refunded', 'pending', 'processing', 'refund_required', 'refunded', 'succeeded']
    """State that began."""
    at: str
    """When it happened."""
    detail: str | None
    """What happened, in words."""


class ReservedBreakdown(TypedDict):
    """What the reserved amount is reserved for."""

    withdrawals: str
    """Reserved for withdrawals."""
    withdrawals_minor: int
    """`withdrawals` in minor units, such as cents."""
    balance_payments: str
    """Reserved for balance payments."""
    balance_payments_minor: int
    """`balance_payments` in minor units, such as cents."""
    refunds: str
    """Reserved for refunds."""
    refunds_minor: int
    """`refunds` in minor units, such as cents."""
    fulfillments: str
    """Reserved for fulfillments."""
    fulfillments_minor: int
    """`fulfillments` in minor units, such as cents."""


class EntrySource(TypedDict):
    """The object an entry belongs to, such as a `transaction`."""

    type: str
    """Type of the object, such as `transaction`."""
    id: str
    """ID of the object."""


class EvidenceView(TypedDict):
    """The evidence. Members without a text are null."""

    product_description: str | None
    """What was sold."""
    customer_name: str | None
    """Name of the customer."""
    customer_email_address: str | None
    """Email address of the customer."""
    customer_purchase_ip: str | None
    """IP address that the customer ordered from."""
    customer_communication: str | None
    """Messages between you and the customer about the order."""
    billing_address: str | None
    """Billing address of the customer."""
    shipping_address: str | None
    """Address that the goods were sent to."""
    shipping_carrier: str | None
    """Carrier that delivered the goods."""
    shipping_date: str | None
    """Day on which the goods were sent."""
    shipping_tracking_number: str | None
    """Tracking number of the carrier."""
    service_date: str | None
    """Day on which the service was provided."""
    service_documentation: str | None
    """What shows that the service was provided."""
    access_activity_log: str | None
    """When the customer signed in to or downloaded a digital product."""
    refund_policy: str | None
    """Your refund policy, and why no refund was due."""
    cancellation_policy: str | None
    """Your cancellation policy."""
    cancellation_rebuttal: str | None
    """Why the order was not canceled."""
    duplicate_charge_explanation: str | None
    """How this payment differs from a payment it seems to repeat."""
    uncategorized_text: str | None
    """Anything else that supports you."""


class DisputeStepView(TypedDict):
    """A status and when it began."""

    status: Literal['accepted', 'expired', 'lost', 'needs_response', 'under_review', 'won']
    """State that began."""
    at: str
    """When it happened."""


class ProposalResult(TypedDict):
    """The object that the approved operation created."""

    object: Literal['balance_payment', 'conversion', 'fulfillment', 'refund', 'withdrawal']
    """Its type."""
    id: str
    """Its ID, by which it is retrieved like any other."""


class ProposalError(TypedDict):
    """Why the operation was refused, as it answers the request itself."""

    code: str
    """Code of the error."""
    message: str
    """What happened, in a sentence."""
    details: dict[str, Any] | None
    """The `details` of the error; null without any."""


class ClockView(TypedDict):
    """The test clock, which expiries of links, quotes and others are compared with."""

    object: Literal['test_clock']
    """Type of the object."""
    now: str
    """Time of the test environment."""
    ahead_seconds: int
    """Seconds by which it is ahead of real time."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class ReviewView(TypedDict):
    """Whether operators review the withdrawal, and their decision."""

    required: bool
    """Whether an operator has to approve it."""
    decided_at: str | None
    """When the operator decided; null before."""
    note: str | None
    """What the operator wrote to you."""


class WaitView(TypedDict):
    """Why a withdrawal that was not sent waits, whatever its review."""

    reason: Literal['destination_refused', 'destination_waits', 'second_member']
    """What it waits for."""
    until: str | None
    """When that ends; null if not by itself."""


class BalancePaymentView(TypedDict):
    """GET /balance-payments/{id}. `merchant_id` pays the owner of the application `oauth_client_id`."""

    id: str
    """ID of the object."""
    object: Literal['balance_payment']
    """Type of the object."""
    merchant_id: str
    """ID of the merchant who pays."""
    oauth_client_id: str
    """ID of the application. Null for API keys and the dashboard."""
    status: Literal['captured', 'expired', 'partially_refunded', 'refunded', 'released', 'reserved']
    """State of the balance payment."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    captured: str
    """What was captured for the application's owner."""
    captured_minor: int
    """`captured` in minor units, such as cents."""
    released: str
    """What was returned to the merchant without being captured."""
    released_minor: int
    """`released` in minor units, such as cents."""
    refunded: str
    """What the owner refunded."""
    refunded_minor: int
    """`refunded` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    description: str | None
    """What the payment is for."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    expires_at: str | None
    """When the object expires."""
    resolved_at: str | None
    """When the reservation was captured, released or expired."""
    version: int
    """Increases with each change of the object."""


class BalancePaymentList(TypedDict):
    """A page of balance payments."""

    balance_payments: list[BalancePaymentView]
    """The balance payments of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class ProductView(TypedDict):
    """A product of GET /fulfillment-products. `price` is per unit."""

    product_id: str
    """ID of the product."""
    object: Literal['fulfillment_product']
    """Type of the object."""
    game: str
    """Name of the game."""
    name: str
    """Name of the product."""
    unit: str
    """What one unit is."""
    minimum_quantity: int
    """Fewest units of an order."""
    maximum_quantity: int
    """Most units of an order."""
    price: str
    """Price of one unit."""
    price_minor: int
    """`price` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    recipient_schema: dict[str, Any]
    """JSON Schema of `recipient`."""
    available: bool
    """Whether it can be ordered."""
    unavailable_reason: Literal['disabled_by_operator', 'not_in_environment', 'provider_not_configured'] | None
    """Why it cannot be ordered; null if it can."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class FulfillmentView(TypedDict):
    """GET /fulfillments/{id}. `cost` is of the ordered quantity, `charged` of the delivered one."""

    id: str
    """ID of the object."""
    object: Literal['fulfillment']
    """Type of the object."""
    status: Literal['canceled', 'completed', 'failed', 'partially_completed', 'pending', 'processing']
    """State of the delivery."""
    product_id: str
    """ID of the product."""
    quantity: int
    """Units that you ordered."""
    delivered_quantity: int
    """Units that were delivered."""
    unit_price: str
    """Price of one unit."""
    unit_price_minor: int
    """`unit_price` in minor units, such as cents."""
    cost: str
    """Price of the ordered units."""
    cost_minor: int
    """`cost` in minor units, such as cents."""
    charged: str
    """Price of the delivered units, which leaves the balance."""
    charged_minor: int
    """`charged` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    recipient: dict[str, Any]
    """Player who gets it."""
    project_id: str | None
    """ID of an approved project."""
    provider_reference: str | None
    """Reference of the provider; null before it gave one."""
    failure_code: str | None
    """Why it failed."""
    attempts: int
    """How often the game server was called."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    processing_at: str | None
    """When the execution began; null before."""
    completed_at: str | None
    """When the object was completed."""
    version: int
    """Increases with each change of the object."""


class FulfillmentList(TypedDict):
    """A page of fulfillments."""

    fulfillments: list[FulfillmentView]
    """The fulfillments of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class FulfillmentFigures(TypedDict):
    """
    The figures of a group. `pending` counts fulfillments that have not ended; `success_rate` ignores canceled ones.

    `cost` is the charged amount by currency. Durations are from order to delivery, in whole seconds, rounded up; those above
    100 seconds to two digits. Of each period, 50 and 95 of 100 deliveries took at most `p50_seconds` and `p95_seconds`.
    """

    count: int
    """Number of fulfillments."""
    completed: int
    """Number of completed ones."""
    partially_completed: int
    """Number of those that were delivered in part."""
    failed: int
    """Number of failed ones."""
    canceled: int
    """Number of canceled ones."""
    pending: int
    """Number of those that have not ended."""
    quantity_delivered: int
    """Units that were delivered."""
    cost: NotRequired[dict[str, Any]]
    """What was charged, by currency."""
    cost_minor: NotRequired[dict[str, Any]]
    """`cost` in minor units, such as cents."""
    success_rate: str | None
    """Share of ended fulfillments that were delivered, from 0 to 1; null if none ended."""
    p50_seconds: int | None
    """Half of the deliveries took at most so many seconds."""
    p95_seconds: int | None
    """95 of 100 deliveries took at most so many seconds."""


class FulfillmentGroup(TypedDict):
    """The figures of one day, product or status."""

    count: int
    """Number of fulfillments."""
    completed: int
    """Number of completed ones."""
    partially_completed: int
    """Number of those that were delivered in part."""
    failed: int
    """Number of failed ones."""
    canceled: int
    """Number of canceled ones."""
    pending: int
    """Number of those that have not ended."""
    quantity_delivered: int
    """Units that were delivered."""
    cost: NotRequired[dict[str, Any]]
    """What was charged, by currency."""
    cost_minor: NotRequired[dict[str, Any]]
    """`cost` in minor units, such as cents."""
    success_rate: str | None
    """Share of ended fulfillments that were delivered, from 0 to 1; null if none ended."""
    p50_seconds: int | None
    """Half of the deliveries took at most so many seconds."""
    p95_seconds: int | None
    """95 of 100 deliveries took at most so many seconds."""
    key: str
    """Day, product or status of the group."""


class SystemFee(TypedDict):
    """The platform's fee: a fixed part and a percentage, within bounds."""

    fixed_minor: int
    """Fixed part of the fee, in minor units."""
    percent_bps: int
    """Share of the amount, in hundredths of a percent."""
    minimum_minor: int
    """Smallest fee, in minor units."""
    maximum_minor: int | None
    """Largest fee, in minor units; null is unlimited."""


class NetworkFee(TypedDict):
    """The fee of the rail. `as_of` is the time of an estimate."""

    model: Literal['estimated', 'fixed', 'none']
    """How the fee is determined."""
    amount_minor: int
    """Fee in minor units."""
    as_of: str | None
    """Time of the estimate; null for a fixed fee."""


class ManualReview(TypedDict):
    """Whether operators review every withdrawal, and from which amount on."""

    always_required: bool
    """Whether every withdrawal is reviewed; true for live methods."""
    threshold_minor: int
    """Amount above which withdrawals are reviewed, in minor units."""


class NetworkFeeEstimate(TypedDict):
    """What the network takes for a payout by the prices of `as_of`, in its coin. You are charged `network_fee`."""

    currency: str
    """Currency code, such as `EUR`."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    as_of: str
    """Time of the prices."""


class SavedRecipientView(TypedDict):
    """GET /withdrawal-recipients/{id}. It can be paid from `active_at` on: in test mode by the test clock."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal_recipient']
    """Type of the object."""
    name: str
    """Name under which the recipient is listed."""
    method_id: str
    """ID of a method from the list of methods."""
    receiver: str
    """Account that receives the money, such as an IBAN or an address."""
    provider_fields: dict[str, Any]
    """Further members, described by the JSON Schema `provider_fields` of the method."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    active_at: str
    """From when on it can be paid."""
    created_at: str
    """When the object was created."""


class WithdrawalSettingsView(TypedDict):
    """GET /settings/withdrawals. `turns_off_at`: from then on, withdrawals can go to any recipient."""

    object: Literal['withdrawal_settings']
    """Type of the object."""
    saved_recipients_only: bool
    """Whether withdrawals go only to saved recipients."""
    turns_off_at: str | None
    """From when on withdrawals can go to any recipient; null if that is not planned."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class BatchTotal(TypedDict):
    """The sums of a batch in one currency."""

    currency: str
    """Currency code, such as `EUR`."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    debit: str
    """What leaves the balance."""
    debit_minor: int
    """`debit` in minor units, such as cents."""
    receive: str
    """What arrives."""
    receive_minor: int
    """`receive` in minor units, such as cents."""


class WithdrawalScheduleView(TypedDict):
    """A schedule. It has an `amount`, or withdraws everything above `keep`."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal_schedule']
    """Type of the object."""
    recipient_id: str
    """ID of a saved recipient, instead of `receiver`."""
    method_id: str
    """ID of a method from the list of methods."""
    currency: str
    """Currency code, such as `EUR`."""
    amount: str | None
    """Amount as a decimal string."""
    amount_minor: int | None
    """`amount` in minor units, such as cents."""
    keep: str | None
    """What stays in the balance. Without `amount`, everything above is withdrawn. Default: nothing stays."""
    keep_minor: int | None
    """`keep` in minor units, such as cents."""
    frequency: Literal['daily', 'monthly', 'once', 'weekly']
    """How often it runs. Recurring schedules run at 06:00 in the time zone of the merchant."""
    day: int | None
    """Weekday from Monday as 1, or day of the month; in a shorter month the last one."""
    description: str | None
    """Description of its withdrawals."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    status: Literal['active', 'ended', 'paused']
    """Whether the schedule runs."""
    next_run_at: str | None
    """When it runs next; null if it does not."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""


class ScheduleRunView(TypedDict):
    """A run of a schedule: the withdrawal that it created, or why it created none."""

    due_at: str
    """When the run was due."""
    outcome: Literal['created', 'failed', 'skipped']
    """Result of the run."""
    withdrawal_id: str | None
    """ID of the withdrawal that it created; null without one."""
    failure_code: str | None
    """Why it failed."""
    at: str
    """When it happened."""
    object: Literal['withdrawal_schedule_run']
    """Type of the object."""


class ConversionPairView(TypedDict):
    """A currency pair. The rate is in major units, before the fee."""

    from_currency: str
    """Currency that you convert."""
    to_currency: str
    """Currency that you receive."""
    available: bool
    """Whether the pair can be converted now."""
    unavailable_reason: Literal['disabled', 'position_limit', 'rate_stale'] | None
    """Why it cannot; null if it can."""
    minimum_minor: int
    """Smallest amount to convert, in minor units."""
    maximum_minor: int | None
    """Largest amount to convert, in minor units; null is unlimited."""
    indicative_rate: str | None
    """Rate in major units before the fee; it is not guaranteed."""
    fee_bps: int
    """Fee, in hundredths of a percent."""
    rate_as_of: str | None
    """When the rate was published; null if there is none."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class ConversionQuoteView(TypedDict):
    """A conversion guaranteed until `expires_at`. The fee is in `from_currency` and included in `from_amount`."""

    id: str
    """ID of the object."""
    object: Literal['conversion_quote']
    """Type of the object."""
    status: Literal['active']
    """Always `active`."""
    from_currency: str
    """Currency that you convert."""
    from_amount: str
    """What you converted."""
    from_amount_minor: int
    """`from_amount` in minor units, such as cents."""
    to_currency: str
    """Currency that you receive."""
    to_amount: str
    """Amount to receive, instead of `amount`."""
    to_amount_minor: int
    """`to_amount` in minor units, such as cents."""
    rate: str
    """Rate in major units, before the margin."""
    fee: str
    """Fee, which `from_amount` includes."""
    fee_minor: int
    """`fee` in minor units, such as cents."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    expires_at: str
    """When the object expires."""


class ConversionView(TypedDict):
    """GET /conversions/{id}."""

    id: str
    """ID of the object."""
    object: Literal['conversion']
    """Type of the object."""
    status: Literal['completed']
    """Always `completed`; a conversion is done at once."""
    from_currency: str
    """Currency that you convert."""
    from_amount: str
    """What you converted."""
    from_amount_minor: int
    """`from_amount` in minor units, such as cents."""
    to_currency: str
    """Currency that you receive."""
    to_amount: str
    """Amount to receive, instead of `amount`."""
    to_amount_minor: int
    """`to_amount` in minor units, such as cents."""
    rate: str
    """Rate in major units, before the margin."""
    fee: str
    """Fee, which `from_amount` includes."""
    fee_minor: int
    """`fee` in minor units, such as cents."""
    quote_id: str | None
    """ID of a quote to use. A quote can be used once."""
    rule_id: str | None
    """ID of the rule that converted; null for a request."""
    transaction_id: str | None
    """ID of the payment that was converted; null for others."""
    reversal_id: str | None
    """ID of the conversion that reversed this one; null without one."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    completed_at: str
    """When the object was completed."""
    version: int
    """Increases with each change of the object."""


class ConversionList(TypedDict):
    """A page of conversions."""

    conversions: list[ConversionView]
    """The conversions of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class RuleCreator(TypedDict):
    """The creator of a rule: an API key, an application or a dashboard user."""

    type: Literal['api_key', 'dashboard', 'oauth']
    """Kind of creator."""
    oauth_client_id: str | None
    """ID of the application. Null for API keys and the dashboard."""


SummaryView = TypedDict(
    'SummaryView',
    {
        'currency': str,
        'decimals': int,
        'from': str,
        'to': str,
        'opening': str,
        'opening_minor': int,
        'payments_gross': str,
        'payments_gross_minor': int,
        'payment_fees': str,
        'payment_fees_minor': int,
        'refunds': str,
        'refunds_minor': int,
        'chargebacks': str,
        'chargebacks_minor': int,
        'chargeback_fees': str,
        'chargeback_fees_minor': int,
        'withdrawals': str,
        'withdrawals_minor': int,
        'withdrawal_fees': str,
        'withdrawal_fees_minor': int,
        'conversions_in': str,
        'conversions_in_minor': int,
        'conversions_out': str,
        'conversions_out_minor': int,
        'conversion_fees': str,
        'conversion_fees_minor': int,
        'fulfillments': str,
        'fulfillments_minor': int,
        'balance_payments_in': str,
        'balance_payments_in_minor': int,
        'balance_payments_out': str,
        'balance_payments_out_minor': int,
        'adjustments': str,
        'adjustments_minor': int,
        'closing': str,
        'closing_minor': int,
        'counts': dict[str, Any],
    },
)


class SettingsView(TypedDict):
    """The settings of an environment. `payment_methods` lists all its methods."""

    object: Literal['settings']
    """Type of the object."""
    default_currency: str
    """Shown with each project. Nothing is converted into it."""
    payment_methods: list[MethodChoice]
    """Every method of the environment, with whether the checkout offers it."""
    link_expiry_minutes: int
    """Lifetime of new payment links that do not set one, in minutes."""
    underpayment_tolerance_bps: int
    """How much of the amount may be missing, in hundredths of a percent."""
    overpayment: Literal['credit', 'refund_required']
    """What happens with a payment above the amount."""
    late_payments: Literal['accept', 'refund_required']
    """What happens with money that arrives after the deadline."""
    late_monitoring_days: int
    """Number of days after a link ends during which rails that poll check its address at the normal interval; after that, once a day. Rails that report payments themselves are not affected."""
    success_url: str | None
    """Page that customers return to after paying."""
    cancel_url: str | None
    """Page that customers return to if they do not pay."""
    branding: Branding
    """Logo, color and support contact of the hosted pages."""
    confirmations: dict[str, Any]
    """Confirmations required by network: a number of blocks, or `finalized`. Networks that are not listed use the default of GET /currencies. The sandbox simulates the first network of a currency."""
    additional_currencies: list[str]
    """Currencies in which customers can pay links of another currency, at a rate that is fixed for 15 minutes. Methods by bank transfer are not offered for them."""
    settlement: Literal['convert', 'keep']
    """What happens with such a payment: it is converted to the currency of the link, or kept in the currency paid."""
    version: int
    """Increases with each change of the object."""
    updated_at: str | None
    """When the object last changed."""
    supported_payment_methods: list[str]
    """IDs of the methods that the service has."""
    webhook_signing_secret_configured: bool
    """Whether webhooks of this environment can be signed."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class WebhookConfiguration(TypedDict):
    """The saved configuration. `secret` is set only in the response that created it."""

    url: str
    """URL of the page or endpoint."""
    event_types: list[str]
    """Types of events to send."""
    enabled: bool
    """Whether it is active."""
    has_secret: bool
    """Whether a signing secret is active."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    secret: NotRequired[str]
    """Signing secret; only in the response that created it."""


class SecretView(TypedDict):
    """A new signing secret, shown once."""

    secret: str
    """The new signing secret; it is shown in this response only."""


class EventView(TypedDict):
    """An event and its delivery. `payload` is the exact body that is sent."""

    id: str
    """ID of the object."""
    type: str
    """Type of the event."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    destination_url: str | None
    """URL that the event is sent to; null without one."""
    status: str
    """State of the delivery."""
    attempts: int
    """Number of attempts so far."""
    next_attempt_at: str | None
    """When the next attempt is due; null if there is none."""
    delivered_at: str | None
    """When the receiver accepted it; null before."""
    payload: Any
    """The exact body that is sent."""


class EventList(TypedDict):
    """A page of events, newest first."""

    webhook_events: list[EventView]
    """The webhook events of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class DeliveryAttempt(TypedDict):
    """A finished attempt to deliver an event."""

    attempt: int
    """Number of the attempt, from 1."""
    status: str
    """`succeeded` or `failed`."""
    error: str | None
    """Why the attempt failed; null if it succeeded."""
    timestamp: str
    """When the attempt ended."""
    http_status: int | None
    """Status of the receiver's response; null without one."""
    duration_ms: int
    """How long the attempt took, in milliseconds."""
    trigger: str
    """`automatic`, or who asked for the delivery."""


class FeedEvent(TypedDict):
    """An event as it is delivered."""

    position: int
    """Position in the feed, from 1 without gaps."""
    id: str
    """ID of the object."""
    type: str
    """Type of the event."""
    created_at: str
    """When the object was created."""
    body: str
    """The exact text that is delivered and signed."""
    headers: dict[str, Any]
    """Signature headers, made for this response. Empty without an active secret."""


class OwnRequest(TypedDict):
    """A request in the log, without what was sent and answered."""

    id: str
    """ID of the object."""
    created_at: str
    """When the object was created."""
    request_id: str
    """ID of the request in its response, or the one that the client sent."""
    method: str
    """HTTP method of the request."""
    path: str
    """Path below the Integration API."""
    status: int
    """HTTP status of the response."""
    error: str | None
    """Error code of the response; null without an error."""
    duration_ms: int
    """How long the service took, in milliseconds."""
    replayed: bool
    """Whether the response was that of an earlier request with the same `Idempotency-Key`."""


class Cause(TypedDict):
    """The object that changed the balance, with its new status and version."""

    type: str
    """Type of the object."""
    id: str
    """ID of the object."""
    status: str
    """New status of the object."""
    version: int
    """Increases with each change of the object."""


class TestSubject(TypedDict):
    """The object of a test event."""

    message: str
    """Says that this is a test."""


class Data10(TypedDict):
    """What happened."""

    object: ConversionView
    """The object after the change."""


class ConversionCompletedEvent(TypedDict):
    """A conversion was completed."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['conversion.completed']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data10
    """What happened."""


class Data11(TypedDict):
    """What happened."""

    object: TestSubject
    """The object after the change."""


class WebhookTestEvent(TypedDict):
    """A test event, sent once on request."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['webhook.test']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data11
    """What happened."""


class LinkRequest(TypedDict):
    """
    The request body. `max_payments`: null is unlimited; the default is one.

    `amount` is required without `line_items` and `customer_amount`.
    """

    display_name: str
    """Name of what you sell. Customers see it on the checkout page and on the receipt."""
    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    currency: str
    """Currency code, such as `EUR`."""
    tax_lines: NotRequired[list[TaxLineRequest]]
    """Taxes that the amount includes, as they are shown to customers."""
    line_items: NotRequired[list[LineItemRequest]]
    """What is sold, line by line, as customers see it. They add up to the amount."""
    quantity: NotRequired[QuantityRequest | None]
    """How many customers can buy with one payment. The amount is the price of one."""
    customer_amount: NotRequired[CustomerAmountRequest | None]
    """The amounts that customers can choose, instead of an amount."""
    project_id: NotRequired[str | None]
    """ID of an approved project, which sells. Can be omitted if you have only one."""
    webhook_url: NotRequired[str | None]
    """URL that receives the events of this object."""
    description: NotRequired[str | None]
    """Text below the name on the checkout page."""
    external_id: NotRequired[str | None]
    """Your own reference, such as an order number. Receipts show it to the customer."""
    metadata: NotRequired[dict[str, Any] | None]
    """Your own names and values, for example to find the order again."""
    payment_method_ids: NotRequired[list[str] | None]
    """Payment methods to offer. If omitted, every available method is offered."""
    success_url: NotRequired[str | None]
    cancel_url: NotRequired[str | None]
    """Page that customers return to if they do not pay."""
    expires_at: NotRequired[str | None]
    """When the link expires. If omitted, the lifetime in your payment settings applies."""
    max_payments: NotRequired[int | None]
    """Number of payments that the link accepts. Null is unlimited."""
    customer_email: NotRequired[str | None]
    """Email address of the customer, who gets the receipt by email after paying."""


class NewSettings(TypedDict):
    """The body of PUT /settings. `version` is the one that was read; methods that are not listed are enabled."""

    default_currency: str
    """Shown with each project. Nothing is converted into it."""
    payment_methods: list[MethodChoice]
    """Methods to offer at checkout."""
    link_expiry_minutes: int
    """Lifetime of new payment links that do not set one, in minutes."""
    underpayment_tolerance_bps: int
    """How much of the amount may be missing, in hundredths of a percent."""
    overpayment: Literal['credit', 'refund_required']
    """What happens with a payment above the amount."""
    late_payments: Literal['accept', 'refund_required']
    """What happens with money that arrives after the deadline."""
    late_monitoring_days: int
    """Number of days after a link ends during which rails that poll check its address at the normal interval; after that, once a day. Rails that report payments themselves are not affected."""
    success_url: NotRequired[str | None]
    cancel_url: NotRequired[str | None]
    """Page that customers return to if they do not pay."""
    branding: Branding
    """Logo, color and support contact of the hosted pages."""
    confirmations: dict[str, Any]
    """Confirmations required by network: a number of blocks, or `finalized`. Networks that are not listed use the default of GET /currencies. The sandbox simulates the first network of a currency."""
    additional_currencies: NotRequired[list[str]]
    """Currencies in which customers can pay links of another currency, at a rate that is fixed for 15 minutes. Methods by bank transfer are not offered for them."""
    settlement: NotRequired[Literal['convert', 'keep']]
    """What happens with such a payment: it is converted to the currency of the link, or kept in the currency paid."""
    version: int
    """Increases with each change of the object."""


class AccountView(TypedDict):
    """The account in the integration API. The last two members are set for applications only."""

    merchant_id: str
    """ID of the merchant."""
    business_name: str
    """Name of the merchant, as customers see it."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_key_id: str | None
    """ID of the API key that sent the request; null for an access token."""
    scopes: list[str]
    """Scopes of the credential."""
    active: bool
    """Whether the account can be used; a suspended one cannot."""
    limits: NotRequired[list[RemainingLimitView]]
    """What this key or connection may move, and what is left of it; absent if it has no limits."""
    recipients: NotRequired[list[str]]
    """Saved recipients that it may withdraw to; absent if they are not limited."""
    limits_expire_at: NotRequired[str]
    """From when on it moves no money; absent if that never ends."""
    oauth_client_id: NotRequired[str | None]
    """ID of the application. Null for API keys and the dashboard."""
    oauth_grant_id: NotRequired[str | None]
    """ID of the connection; present for access tokens only."""


class LinkView(TypedDict):
    """GET /payment-links/{id}."""

    id: str
    """ID of the object."""
    object: Literal['payment_link']
    """Type of the object."""
    url: str
    """URL of the page or endpoint."""
    status: Literal['active', 'canceled', 'completed', 'expired']
    """Whether customers can pay the link."""
    payable: bool
    """Whether a customer could pay the link now."""
    unpayable_reason: Literal['account_suspended', 'amount_out_of_range', 'disabled_by_merchant', 'disabled_by_operator', 'no_method', 'not_active', 'provider_down', 'provider_not_configured', 'rate_unavailable'] | None
    """Why nobody can pay the link now; null if somebody can."""
    display_name: str
    """Name of what you sell."""
    description: str | None
    """Text below the name on the checkout page."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    tax_lines: list[TaxLineView]
    """Taxes that the amount includes."""
    line_items: list[LineItemView]
    """What is sold, line by line."""
    quantity: QuantityRange | None
    """How many customers can buy with one payment; null if they cannot choose."""
    customer_amount: CustomerAmountView | None
    """Amounts that customers can choose; null if the amount is fixed."""
    project_id: str
    """ID of an approved project."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    payment_method_ids: list[str] | None
    """Payment methods to offer. If omitted, every available method is offered."""
    success_url: str | None
    """Page that customers return to after paying."""
    cancel_url: str | None
    """Page that customers return to if they do not pay."""
    customer_email: str | None
    """Email address of the customer, who gets the receipt."""
    max_payments: int | None
    """Number of payments that the link accepts; null is unlimited."""
    payments_count: int
    """Number of successful payments."""
    amount_paid: str
    """Sum of the successful payments."""
    amount_paid_minor: int
    """`amount_paid` in minor units, such as cents."""
    latest_transaction_id: str | None
    """ID of the latest payment; null before the first one."""
    created_by: LinkCreator
    """Who created the link."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    expires_at: str
    """When the object expires."""
    completed_at: str | None
    """When the object was completed."""
    canceled_at: str | None
    """When the object was canceled."""
    version: int
    """Increases with each change of the object."""


class LinkList(TypedDict):
    """A page of links."""

    payment_links: list[LinkView]
    """The payment links of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class CurrencyView(TypedDict):
    """A currency. A chain's `deposit` does not imply its `withdrawal`."""

    code: str
    """Currency code, such as `EUR`."""
    name: str
    """Name of the currency."""
    type: Literal['crypto', 'fiat']
    """Kind of currency."""
    decimals: int
    """Digits after the point of amounts in this currency."""
    symbol: str
    """Symbol that is shown with amounts."""
    operations: CurrencyOperations
    """What can be done with the currency."""
    balance_payment_supported: bool
    """Whether balance payments can have it."""
    chains: list[Chain]
    """Networks that carry the currency."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class PaymentMethodView(TypedDict):
    """A payment method of the hosted checkout, available or not."""

    method_id: str
    """ID of a method from the list of methods."""
    name: str
    """Name of the method, which customers see."""
    type: Literal['bank_transfer', 'card', 'crypto', 'simulator']
    """Kind of method."""
    network: str
    """Network or rail of the method."""
    asset: str
    """What the customer pays with."""
    currencies: list[str]
    """Currencies of payment links that the method can pay."""
    settlement_currency: str
    """Currency in which the payment arrives."""
    minimum_minor: int
    """Smallest payment, in minor units."""
    maximum_minor: int | None
    """Largest payment, in minor units; null is unlimited."""
    minimum_refund_minor: int
    """Smallest refund of a part, in minor units."""
    fees: Fees
    """Fees that you pay for a payment."""
    push: bool
    """Whether the customer sends the money, so that the amount can differ."""
    refundable: bool
    """Whether payments can be refunded."""
    confirmation: Literal['days', 'instant', 'minutes']
    """How long a payment usually takes to be confirmed."""
    available: bool
    """Whether it can be used now."""
    unavailable_reason: Literal['amount_out_of_range', 'currency_not_supported', 'disabled_by_merchant', 'disabled_by_operator', 'not_in_environment', 'project_not_allowed', 'provider_down', 'provider_not_configured', 'rate_unavailable'] | None
    """Why the method is not available; null if it is."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class ProjectList(TypedDict):
    """A page of projects."""

    projects: list[ProjectView]
    """The projects of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class RefundView(TypedDict):
    """GET /refunds/{id}. The fee of the payment is not returned."""

    id: str
    """ID of the object."""
    object: Literal['refund']
    """Type of the object."""
    transaction_id: str
    """ID of the payment."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    fee_refunded: str
    """Part of the payment's fee that was returned; always zero."""
    fee_refunded_minor: int
    """`fee_refunded` in minor units, such as cents."""
    exchange: ExchangeView | None
    """What the refund of a converted payment costs; null for others."""
    status: Literal['failed', 'pending', 'succeeded']
    """Whether the money was returned."""
    reason: Literal['customer_request', 'duplicate', 'fraudulent', 'other', 'service_issue']
    """Why you refunded the payment."""
    receiver: str | None
    """Account that receives the money, such as an IBAN or an address."""
    review: Literal['approved', 'not_required', 'rejected', 'required']
    """Whether operators review the refund, and what they decided."""
    failure_code: str | None
    """Why it failed."""
    provider_reference: str | None
    """Reference of the provider; null before it gave one."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    version: int
    """Increases with each change of the object."""
    network_fee: str
    """Fee of the network, which is added to the debit."""
    network_fee_minor: int
    """`network_fee` in minor units, such as cents."""


class BalanceView(TypedDict):
    """GET /balances/{currency}. `total` is available + pending + reserved - debt."""

    object: Literal['balance']
    """Type of the object."""
    currency: str
    """Currency code, such as `EUR`."""
    decimals: int
    """Digits after the point of amounts in this currency."""
    available: str
    """What you can spend."""
    available_minor: int
    """`available` in minor units, such as cents."""
    pending: str
    """What has arrived and is not final yet."""
    pending_minor: int
    """`pending` in minor units, such as cents."""
    reserved: str
    """What is set aside for actions that have not ended."""
    reserved_minor: int
    """`reserved` in minor units, such as cents."""
    debt: str
    """What you owe; it is taken from the next payments."""
    debt_minor: int
    """`debt` in minor units, such as cents."""
    total: str
    """Available, pending and reserved, less debt."""
    total_minor: int
    """`total` in minor units, such as cents."""
    reserved_breakdown: ReservedBreakdown
    """What the reserved amount is for."""
    version: int
    """Increases with each change of the object."""
    updated_at: str | None
    """When the object last changed."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class EntryView(TypedDict):
    """
    GET /ledger/{id}. `amount` is positive; `signed_amount_minor` is signed in the account's own terms.

    `oauth_client_id` is the application that requested the change, or null.
    """

    id: str
    """ID of the object."""
    object: Literal['ledger_entry']
    """Type of the object."""
    ledger_transaction_id: str
    """ID of the journal entry; all its postings have the same one."""
    account: Literal['available', 'debt', 'pending', 'reserved']
    """Part of the balance that changed."""
    direction: Literal['credit', 'debit']
    """Side of the posting."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    signed_amount_minor: int
    """Amount in minor units, negative if the account decreased."""
    balance_after: str
    """Balance of the account after the entry."""
    balance_after_minor: int
    """`balance_after` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    type: Literal['adjustment', 'balance_payment_in', 'balance_payment_out', 'balance_payment_refund', 'chargeback', 'chargeback_fee', 'chargeback_reversal', 'conversion_fee', 'conversion_in', 'conversion_out', 'fulfillment', 'fulfillment_refund', 'hold', 'network_fee', 'payment', 'payment_fee', 'refund', 'refund_reversal', 'release', 'settlement', 'test_funding', 'withdrawal', 'withdrawal_fee', 'withdrawal_return']
    """What the entry is for."""
    source: EntrySource
    """Object that caused the entry."""
    oauth_client_id: str | None
    """ID of the application. Null for API keys and the dashboard."""
    description: str
    """The entry in words."""
    sequence: int
    """Number of the entry; it rises within an account."""
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class RefundList(TypedDict):
    """A page of refunds."""

    refunds: list[RefundView]
    """The refunds of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class DisputeView(TypedDict):
    """GET /disputes/{id}. Its `id` is that of the chargeback of its transaction."""

    id: str
    """ID of the object."""
    object: Literal['dispute']
    """Type of the object."""
    transaction_id: str
    """ID of the payment."""
    payment_link_id: str
    """ID of the payment link."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    method_id: str
    """ID of a method from the list of methods."""
    status: Literal['accepted', 'expired', 'lost', 'needs_response', 'under_review', 'won']
    """State of the dispute."""
    reason: str
    """Reason that the customer gave to the bank."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    fee: str
    """Fee of the dispute."""
    fee_minor: int
    """`fee` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    evidence: EvidenceView
    """Evidence that you saved."""
    evidence_due_at: str | None
    """Until when you can respond."""
    evidence_submitted_at: str | None
    """When you submitted the evidence."""
    history: list[DisputeStepView]
    """Every state of the dispute, oldest first."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    closed_at: str | None
    """When it was decided; null before."""


class ProposalView(TypedDict):
    """A proposal, as its proposer sees it."""

    id: str
    """ID of the object."""
    object: Literal['proposal']
    """Type of the object."""
    status: Literal['approved', 'canceled', 'expired', 'failed', 'rejected', 'waiting']
    """State of the proposal."""
    operation: Literal['balance_payments', 'conversions', 'fulfillments', 'refunds', 'withdrawals']
    """What is proposed."""
    body: dict[str, Any]
    """The body of the operation, as it was proposed."""
    result: ProposalResult | None
    """The created object; null unless `approved`."""
    error: ProposalError | None
    """Why the operation was refused; null unless `failed`."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    expires_at: str
    """When it expires unless the merchant decides: 7 days after it was proposed."""
    ended_at: str | None
    """When it was decided, canceled or expired; null while it waits."""


class ProposalList(TypedDict):
    """A page of proposals."""

    proposals: list[ProposalView]
    """The proposals of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalView(TypedDict):
    """GET /withdrawals/{id}. `debit` leaves the balance, `receive` arrives."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal']
    """Type of the object."""
    method_id: str
    """ID of a method from the list of methods."""
    currency: str
    """Currency code, such as `EUR`."""
    status: Literal['approved', 'canceled', 'completed', 'failed', 'pending_review', 'processing']
    """State of the withdrawal."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    network_fee_mode: Literal['add', 'deduct']
    """`deduct` takes fees from the amount, `add` adds them to it. Default: `deduct`."""
    system_fee: str
    """Fee of the platform."""
    system_fee_minor: int
    """`system_fee` in minor units, such as cents."""
    network_fee: str
    """Fee of the network."""
    network_fee_minor: int
    """`network_fee` in minor units, such as cents."""
    debit: str
    """What leaves the balance."""
    debit_minor: int
    """`debit` in minor units, such as cents."""
    receive: str
    """What arrives."""
    receive_minor: int
    """`receive` in minor units, such as cents."""
    receiver: str
    """Account that receives the money, such as an IBAN or an address."""
    recipient_id: str | None
    """ID of a saved recipient, instead of `receiver`."""
    provider_fields: dict[str, Any]
    """Further members, described by the JSON Schema `provider_fields` of the method."""
    quote_id: str | None
    """ID of a quote to use. A quote can be used once."""
    batch_id: str | None
    """ID of the batch that it was created with."""
    failure_code: Literal['payout_declined', 'receiver_invalid', 'returned', 'review_rejected'] | None
    """Why it failed."""
    failure_message: str | None
    """Why it failed, in words; null if it did not fail."""
    provider_reference: str | None
    """Reference of the provider; null before it gave one."""
    tx_hash: str | None
    """Hash of the transfer on the network; null without one."""
    review: ReviewView
    """Whether operators review the withdrawal, and their decision."""
    waits: list[WaitView]
    """What else it waits for before it is sent; empty if for nothing."""
    cancelable: bool
    """Whether it can still be canceled."""
    estimated_arrival: str | None
    """When the money should arrive; null if that is not known."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    description: str | None
    """Your own note."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    processing_at: str | None
    """When the execution began; null before."""
    completed_at: str | None
    """When the object was completed."""
    version: int
    """Increases with each change of the object."""


class FulfillmentProductList(TypedDict):
    """A page of products."""

    fulfillment_products: list[ProductView]
    """The fulfillment products of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


FulfillmentStatistics = TypedDict(
    'FulfillmentStatistics',
    {
        'object': Literal['fulfillment_statistics'],
        'from': str,
        'to': str,
        'group_by': Literal['day', 'product', 'status'] | None,
        'totals': FulfillmentFigures,
        'groups': list[FulfillmentGroup],
        'mode': Literal['live', 'test'],
        'livemode': bool,
    },
)


class MethodFees(TypedDict):
    """The platform's fee and the rail's fee."""

    system: SystemFee
    """Fee of the platform."""
    network: NetworkFee
    """Fee of the rail."""


class WithdrawalQuoteView(TypedDict):
    """The costs of a withdrawal, guaranteed until `expires_at`."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal_quote']
    """Type of the object."""
    method_id: str
    """ID of a method from the list of methods."""
    currency: str
    """Currency code, such as `EUR`."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    network_fee_mode: Literal['add', 'deduct']
    """`deduct` takes fees from the amount, `add` adds them to it. Default: `deduct`."""
    system_fee: str
    """Fee of the platform."""
    system_fee_minor: int
    """`system_fee` in minor units, such as cents."""
    network_fee: str
    """Fee of the network."""
    network_fee_minor: int
    """`network_fee` in minor units, such as cents."""
    debit: str
    """What leaves the balance."""
    debit_minor: int
    """`debit` in minor units, such as cents."""
    receive: str
    """What arrives."""
    receive_minor: int
    """`receive` in minor units, such as cents."""
    manual_review_required: bool
    """Whether an operator has to approve the withdrawal."""
    network_fee_estimate: NetworkFeeEstimate | None
    """What the network takes now; null where the rail has no prices."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    expires_at: str
    """When the object expires."""


class WithdrawalList(TypedDict):
    """A page of withdrawals."""

    withdrawals: list[WithdrawalView]
    """The withdrawals of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class SavedRecipientList(TypedDict):
    """A page of recipients."""

    withdrawal_recipients: list[SavedRecipientView]
    """The withdrawal recipients of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalBatchView(TypedDict):
    """GET /withdrawal-batches/{id}. `statuses` counts its withdrawals; `withdrawal_ids` has the order of the items."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal_batch']
    """Type of the object."""
    description: str | None
    """Your own description of the batch."""
    item_count: int
    """Number of withdrawals."""
    totals: list[BatchTotal]
    """Sums by currency."""
    statuses: dict[str, Any]
    """Number of withdrawals in each status."""
    withdrawal_ids: list[str]
    """IDs of the withdrawals, in the order of the request."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""


class WithdrawalScheduleList(TypedDict):
    """A page of schedules."""

    withdrawal_schedules: list[WithdrawalScheduleView]
    """The withdrawal schedules of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalScheduleDetails(TypedDict):
    """GET /withdrawal-schedules/{id}. `latest_runs`: newest first, at most 100."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal_schedule']
    """Type of the object."""
    recipient_id: str
    """ID of a saved recipient, instead of `receiver`."""
    method_id: str
    """ID of a method from the list of methods."""
    currency: str
    """Currency code, such as `EUR`."""
    amount: str | None
    """Amount as a decimal string."""
    amount_minor: int | None
    """`amount` in minor units, such as cents."""
    keep: str | None
    """What stays in the balance. Without `amount`, everything above is withdrawn. Default: nothing stays."""
    keep_minor: int | None
    """`keep` in minor units, such as cents."""
    frequency: Literal['daily', 'monthly', 'once', 'weekly']
    """How often it runs. Recurring schedules run at 06:00 in the time zone of the merchant."""
    day: int | None
    """Weekday from Monday as 1, or day of the month; in a shorter month the last one."""
    description: str | None
    """Description of its withdrawals."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    status: Literal['active', 'ended', 'paused']
    """Whether the schedule runs."""
    next_run_at: str | None
    """When it runs next; null if it does not."""
    latest_runs: list[ScheduleRunView]
    """Latest runs, newest first, at most 100."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""


class ConversionPairList(TypedDict):
    """A page of pairs."""

    conversion_pairs: list[ConversionPairView]
    """The conversion pairs of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class ConversionRuleView(TypedDict):
    """GET /conversion-rules/{id}."""

    id: str
    """ID of the object."""
    object: Literal['conversion_rule']
    """Type of the object."""
    from_currency: str
    """Currency that you convert."""
    to_currency: str
    """Currency that you receive."""
    trigger: Literal['on_payment', 'on_threshold']
    """When it converts."""
    threshold: str | None
    """Balance from which the rule `on_threshold` converts."""
    threshold_minor: int | None
    """`threshold` in minor units, such as cents."""
    percent: int
    """Share to convert, in percent."""
    enabled: bool
    """Whether it is active."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    created_by: RuleCreator
    """Who created the rule."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    version: int
    """Increases with each change of the object."""


FinancialReport = TypedDict(
    'FinancialReport',
    {
        'object': Literal['financial_summary'],
        'from': str,
        'to': str,
        'group_by': Literal['day', 'month', 'none'],
        'financial_summaries': list[SummaryView],
        'mode': Literal['live', 'test'],
        'livemode': bool,
    },
)


class EventWithHistory(TypedDict):
    """An event with its attempts in order."""

    id: str
    """ID of the object."""
    type: str
    """Type of the event."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    destination_url: str | None
    """URL that the event is sent to; null without one."""
    status: str
    """State of the delivery."""
    attempts: int
    """Number of attempts so far."""
    next_attempt_at: str | None
    """When the next attempt is due; null if there is none."""
    delivered_at: str | None
    """When the receiver accepted it; null before."""
    payload: Any
    """The exact body that is sent."""
    delivery_history: list[DeliveryAttempt]
    """Every attempt, oldest first."""


class FeedPage(TypedDict):
    """Events in the order of their positions."""

    feed_id: str
    """ID of the feed. It changes when the database is restored from a backup."""
    events: list[FeedEvent]
    """Events, oldest first."""
    next: int
    """Last position that was examined. Send it as `after` to continue."""
    has_more: bool
    """Whether there are more objects after this page."""


class OwnRequests(TypedDict):
    """Requests of the log, newest first."""

    requests: list[OwnRequest]
    """Requests, newest first."""
    has_more: bool
    """Whether there are more objects after this page."""


class Data6(TypedDict):
    """What happened."""

    object: BalanceView
    """The object after the change."""
    source: Cause
    """What caused the change."""
    entries: list[EntryView]
    """What caused the change."""


class BalanceUpdatedEvent(TypedDict):
    """A balance changed. The payload has the ledger entries and their source."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['balance.updated']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data6
    """What happened."""


class Data7(TypedDict):
    """What happened."""

    object: WithdrawalView
    """The object after the change."""


class WithdrawalProcessingEvent(TypedDict):
    """A withdrawal is being sent."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['withdrawal.processing']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data7
    """What happened."""


class WithdrawalCompletedEvent(TypedDict):
    """A withdrawal was sent."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['withdrawal.completed']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data7
    """What happened."""


class WithdrawalFailedEvent(TypedDict):
    """A withdrawal was rejected or returned. The amount is in the balance again."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['withdrawal.failed']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data7
    """What happened."""


class CurrencyList(TypedDict):
    """A page of currencies."""

    currencies: list[CurrencyView]
    """The currencies of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class PaymentMethodList(TypedDict):
    """A page of methods."""

    payment_methods: list[PaymentMethodView]
    """The payment methods of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class TransactionView(TypedDict):
    """GET /transactions/{id}."""

    id: str
    """ID of the object."""
    object: Literal['transaction']
    """Type of the object."""
    type: Literal['payment']
    """Always `payment`."""
    payment_link_id: str
    """ID of the payment link."""
    project_id: str
    """ID of an approved project."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    status: Literal['chargeback', 'expired', 'failed', 'partially_refunded', 'pending', 'processing', 'refund_required', 'refunded', 'succeeded']
    """State of the payment."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    price: PriceView | None
    """Price in the currency of the link, if another one is paid; otherwise null."""
    amount_received: str
    """What the customer paid."""
    amount_received_minor: int
    """`amount_received` in minor units, such as cents."""
    fee: str
    """Fee of the payment."""
    fee_minor: int
    """`fee` in minor units, such as cents."""
    net: str
    """What reached the balance: the amount received, less the fee."""
    net_minor: int
    """`net` in minor units, such as cents."""
    amount_refunded: str
    """What was refunded or is being refunded."""
    amount_refunded_minor: int
    """`amount_refunded` in minor units, such as cents."""
    overpaid: str
    """How much more than the amount was paid."""
    overpaid_minor: int
    """`overpaid` in minor units, such as cents."""
    refundable: bool
    """Whether the payment can be refunded now."""
    refundable_amount: str
    """How much can be refunded now."""
    refundable_amount_minor: int
    """`refundable_amount` in minor units, such as cents."""
    refund_unavailable_reason: Literal['not_refundable_method', 'status', 'window_passed'] | None
    """Why the payment cannot be refunded; null if it can."""
    quantity: int | None
    """Number that the customer chose; null if the link has no quantity."""
    method_id: str
    """ID of a method from the list of methods."""
    method_type: str
    """Kind of the payment method."""
    payment_details: PaymentDetails
    """How the customer paid."""
    failure_code: str | None
    """Why it failed."""
    failure_message: str | None
    """Why it failed, in words; null if it did not fail."""
    refund_required_reason: Literal['after_cancel', 'balance_limit', 'duplicate', 'late', 'position_limit', 'underpaid', 'wrong_asset'] | None
    """Why the money that arrived has to be refunded; null if it does not."""
    refund_required_amount: str
    """How much has to be refunded."""
    refund_required_amount_minor: int
    """`refund_required_amount` in minor units, such as cents."""
    late: bool
    """Whether the money arrived after the deadline."""
    chargeback: ChargebackView | None
    """Latest chargeback; null without one."""
    refunds: list[RefundView]
    """Refunds of the payment."""
    timeline: list[TimelineEntryView]
    """What happened, oldest first."""
    metadata: dict[str, Any]
    """Your own names and values, for example to find the order again."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    succeeded_at: str | None
    """When the payment succeeded; null before."""
    version: int
    """Increases with each change of the object."""


class BalanceList(TypedDict):
    """The balances in every currency that can have one."""

    balances: list[BalanceView]
    """The balances of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class EntryList(TypedDict):
    """A page of entries."""

    ledger: list[EntryView]
    """The entries of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class DisputeList(TypedDict):
    """A page of disputes."""

    disputes: list[DisputeView]
    """The disputes of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalMethodView(TypedDict):
    """One withdrawal method, available or not."""

    method_id: str
    """ID of a method from the list of methods."""
    name: str
    """Name of the method."""
    currency: str
    """Currency code, such as `EUR`."""
    network: str
    """Network or rail of the method."""
    available: bool
    """Whether this environment can use the method."""
    unavailable_reason: Literal['provider_down', 'provider_not_configured'] | Literal['currency_not_supported', 'disabled_by_operator', 'not_in_environment'] | None
    """Why the method is not available; null if it is."""
    minimum_minor: int
    """Smallest withdrawal, in minor units."""
    maximum_minor: int | None
    """Largest withdrawal, in minor units; null is unlimited."""
    daily_limit_minor: int | None
    """Most that can be withdrawn in a day, in minor units; null is unlimited."""
    network_fee_modes: list[Literal['add', 'deduct']]
    """Values of `network_fee_mode` that the method accepts."""
    fees: MethodFees
    """Fees of a withdrawal."""
    receiver_type: Literal['bitcoin_address', 'evm_address', 'iban', 'sandbox']
    """What `receiver` has to be."""
    provider_fields: dict[str, Any]
    """Further members, described by the JSON Schema `provider_fields` of the method."""
    manual_review: ManualReview
    """Whether operators review withdrawals."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class WithdrawalBatchList(TypedDict):
    """A page of batches."""

    withdrawal_batches: list[WithdrawalBatchView]
    """The withdrawal batches of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class ConversionRuleList(TypedDict):
    """A page of rules."""

    conversion_rules: list[ConversionRuleView]
    """The conversion rules of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class Data(TypedDict):
    """What happened."""

    object: TransactionView
    """The object after the change."""


class PaymentSucceededEvent(TypedDict):
    """A payment was credited: it is confirmed, or the merchant accepted the received amount."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.succeeded']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data
    """What happened."""


class PaymentFailedEvent(TypedDict):
    """A payment was declined, or its link was canceled before money was received."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.failed']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data
    """What happened."""


class Data2(TypedDict):
    """What happened."""

    object: TransactionView | LinkView
    """The object after the change."""


class PaymentExpiredEvent(TypedDict):
    """A payment link expired without payment. The object is the latest transaction of the link, or the link itself without one."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.expired']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data2
    """What happened."""


class Data3(TypedDict):
    """What happened."""

    object: TransactionView
    """The object after the change."""


class PaymentRefundRequiredEvent(TypedDict):
    """An amount was received that does not match: too little, too late, twice, after a cancellation or in another asset. The merchant accepts or refunds it."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.refund_required']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data3
    """What happened."""


class Data4(TypedDict):
    """What happened."""

    object: TransactionView
    """The object after the change."""
    refund: RefundView
    """What caused the change."""


class PaymentRefundedEvent(TypedDict):
    """A refund was paid to the customer; `data.refund` is the refund."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.refunded']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data4
    """What happened."""


class Data5(TypedDict):
    """What happened."""

    object: TransactionView
    """The object after the change."""
    chargeback: ChargebackView
    """What caused the change."""


class PaymentChargebackEvent(TypedDict):
    """A customer disputed a payment; `data.chargeback` is the dispute."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.chargeback']
    """Type of the event."""
    created_at: str
    """When it happened."""
    mode: Literal['live', 'test']
    """Environment of the object."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    """Version of the payload."""
    sequence: int
    """Increases with each event of the same object."""
    data: Data5
    """What happened."""


class TransactionList(TypedDict):
    """A page of transactions."""

    transactions: list[TransactionView]
    """The transactions of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalMethodList(TypedDict):
    """A page of methods."""

    withdrawal_methods: list[WithdrawalMethodView]
    """The withdrawal methods of this page."""
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


Event = PaymentSucceededEvent | PaymentFailedEvent | PaymentExpiredEvent | PaymentRefundRequiredEvent | PaymentRefundedEvent | PaymentChargebackEvent | BalanceUpdatedEvent | WithdrawalProcessingEvent | WithdrawalCompletedEvent | WithdrawalFailedEvent | ConversionCompletedEvent | WebhookTestEvent
"""Any event, told apart by its `type`."""
