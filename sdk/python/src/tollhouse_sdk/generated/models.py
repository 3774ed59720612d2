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


class Simulation(TypedDict):
    """The outcome to simulate. `amount` applies to outcomes that move money and has a default."""

    outcome: Literal['chargeback', 'chargeback_lost', 'chargeback_won', 'duplicate', 'expire', 'fail', 'late', 'overpay', 'processing', 'succeed', 'underpay']
    """What the customer and the bank do. See [Test mode](/docs/test-mode.md)."""
    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    failure_code: NotRequired[Literal['canceled_by_customer', 'card_declined', 'double_spend', 'expired_method', 'insufficient_funds'] | None]
    """Why it failed."""


class LinkSimulation(TypedDict):
    """The payment to simulate. `quantity` and `customer_amount` are what the customer of such a link chooses."""

    outcome: Literal['chargeback', 'chargeback_lost', 'chargeback_won', 'duplicate', 'expire', 'fail', 'late', 'overpay', 'processing', 'succeed', 'underpay']
    amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""
    failure_code: NotRequired[Literal['canceled_by_customer', 'card_declined', 'double_spend', 'expired_method', 'insufficient_funds'] | None]
    """Why it failed."""
    quantity: NotRequired[int | None]
    """How many the customer chooses, if the link has a `quantity`."""
    customer_amount: NotRequired[str]
    """Decimal string above zero, at most `decimals` digits after the point."""


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
    """Decimal string above zero, at most `decimals` digits after the point."""
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
    """Decimal string above zero, at most `decimals` digits after the point."""
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


class NewTestEvent(TypedDict):
    """The body of POST /webhook/test."""

    url: str
    """URL of the page or endpoint."""


class AccountView(TypedDict):
    """The account in the integration API. The last two members are set for applications only."""

    merchant_id: str
    business_name: str
    """Name of the merchant, as customers see it."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_key_id: str | None
    scopes: list[str]
    """Scopes of the credential."""
    active: bool
    oauth_client_id: NotRequired[str | None]
    """ID of the application. Null for API keys and the dashboard."""
    oauth_grant_id: NotRequired[str | None]


class TaxLineView(TypedDict):
    """A tax that is included in the amount."""

    name: str
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""


class LineItemView(TypedDict):
    """A line of what is sold."""

    name: str
    quantity: int
    unit_amount: str
    unit_amount_minor: int
    """`unit_amount` in minor units, such as cents."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""


class QuantityRange(TypedDict):
    """How many of what a link sells can be bought with one payment. The customer chooses."""

    min: int
    max: int


class CustomerAmountView(TypedDict):
    """The amounts that the customer can choose. `preset` is what the checkout suggests."""

    min: str
    min_minor: int
    """`min` in minor units, such as cents."""
    max: str
    max_minor: int
    """`max` in minor units, such as cents."""
    preset: str | None
    preset_minor: int | None
    """`preset` in minor units, such as cents."""


class LinkCreator(TypedDict):
    """The creator of a link: an API key, an application or a dashboard user."""

    type: Literal['api_key', 'dashboard', 'oauth']
    oauth_client_id: str | None
    """ID of the application. Null for API keys and the dashboard."""


class CurrencyOperations(TypedDict):
    """The operations a currency supports."""

    balances: bool
    payments: bool
    withdrawals: bool
    conversions: bool


class Chain(TypedDict):
    """A network that carries the currency. `deposit` does not imply `withdrawal`."""

    network: str
    asset_id: str | None
    onchain_decimals: int
    confirmations: str
    deposit: bool
    withdrawal: bool


class Fees(TypedDict):
    """
    The platform's fee: a fixed part and a share, within bounds. Zero by default.

    `chargeback_minor` is charged for each dispute, whatever its outcome.
    """

    fixed_minor: int
    basis_points: int
    minimum_minor: int
    maximum_minor: int | None
    chargeback_minor: int


class ProjectView(TypedDict):
    """An approved project."""

    id: str
    """ID of the object."""
    object: Literal['project']
    """Type of the object."""
    name: str
    status: Literal['approved']
    website_url: str | None
    """Website, which is shown to merchants and customers."""
    description: str | None
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
    rate_as_of: str
    rate_source: str
    rate_expires_at: str
    margin_bps: int
    settlement: Literal['convert', 'keep']


class PaymentDetails(TypedDict):
    """How the customer paid. Members a rail does not have are null."""

    network: str
    asset: str
    pay_amount: str | None
    pay_amount_onchain: str | None
    address: str | None
    tx_hashes: list[str]
    confirmations: int | None
    required_confirmations: int | None
    rate: str | None
    payer_hint: str | None


class ChargebackView(TypedDict):
    """The latest chargeback of a transaction."""

    id: str
    """ID of the object."""
    status: Literal['lost', 'open', 'won']
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    fee: str
    fee_minor: int
    """`fee` in minor units, such as cents."""
    reason: str
    opened_at: str
    closed_at: str | None


class ExchangeView(TypedDict):
    """What the money of a refund costs: at the current rate, before the margin. The fee is the margin, included."""

    from_currency: str
    """Currency that you convert."""
    from_amount: str
    from_amount_minor: int
    """`from_amount` in minor units, such as cents."""
    to_currency: str
    """Currency that you receive."""
    to_amount: str
    """Amount to receive, instead of `amount`."""
    to_amount_minor: int
    """`to_amount` in minor units, such as cents."""
    rate: str
    rate_as_of: str
    fee: str
    fee_minor: int
    """`fee` in minor units, such as cents."""


class TimelineEntryView(TypedDict):
    """An entry of the timeline."""

    status: Literal['chargeback', 'expired', 'failed', 'partially_refunded', 'pending', 'processing', 'refund_required', 'refunded', 'succeeded']
    at: str
    detail: str | None


class ReservedBreakdown(TypedDict):
    """What the reserved amount is reserved for."""

    withdrawals: str
    withdrawals_minor: int
    """`withdrawals` in minor units, such as cents."""
    balance_payments: str
    balance_payments_minor: int
    """`balance_payments` in minor units, such as cents."""
    refunds: str
    refunds_minor: int
    """`refunds` in minor units, such as cents."""
    fulfillments: str
    fulfillments_minor: int
    """`fulfillments` in minor units, such as cents."""


class EntrySource(TypedDict):
    """The object an entry belongs to, such as a `transaction`."""

    type: str
    id: str
    """ID of the object."""


class EvidenceView(TypedDict):
    """The evidence. Members without a text are null."""

    product_description: str | None
    customer_name: str | None
    customer_email_address: str | None
    customer_purchase_ip: str | None
    customer_communication: str | None
    billing_address: str | None
    shipping_address: str | None
    shipping_carrier: str | None
    shipping_date: str | None
    shipping_tracking_number: str | None
    service_date: str | None
    service_documentation: str | None
    access_activity_log: str | None
    refund_policy: str | None
    cancellation_policy: str | None
    cancellation_rebuttal: str | None
    duplicate_charge_explanation: str | None
    uncategorized_text: str | None


class DisputeStepView(TypedDict):
    """A status and when it began."""

    status: Literal['accepted', 'expired', 'lost', 'needs_response', 'under_review', 'won']
    at: str


class ClockView(TypedDict):
    """The test clock, which expiries of links, quotes and others are compared with."""

    object: Literal['test_clock']
    """Type of the object."""
    now: str
    ahead_seconds: int
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class ReviewView(TypedDict):
    """Whether operators review the withdrawal, and their decision."""

    required: bool
    decided_at: str | None
    note: str | None


class BalancePaymentView(TypedDict):
    """GET /balance-payments/{id}. `merchant_id` pays the owner of the application `oauth_client_id`."""

    id: str
    """ID of the object."""
    object: Literal['balance_payment']
    """Type of the object."""
    merchant_id: str
    oauth_client_id: str
    """ID of the application. Null for API keys and the dashboard."""
    status: Literal['captured', 'expired', 'partially_refunded', 'refunded', 'released', 'reserved']
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    captured: str
    captured_minor: int
    """`captured` in minor units, such as cents."""
    released: str
    released_minor: int
    """`released` in minor units, such as cents."""
    refunded: str
    refunded_minor: int
    """`refunded` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    description: str | None
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
    version: int
    """Increases with each change of the object."""


class BalancePaymentList(TypedDict):
    """A page of balance payments."""

    balance_payments: list[BalancePaymentView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class ProductView(TypedDict):
    """A product of GET /fulfillment-products. `price` is per unit."""

    product_id: str
    object: Literal['fulfillment_product']
    """Type of the object."""
    game: str
    name: str
    unit: str
    minimum_quantity: int
    maximum_quantity: int
    price: str
    price_minor: int
    """`price` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    recipient_schema: dict[str, Any]
    available: bool
    unavailable_reason: Literal['disabled_by_operator', 'not_in_environment', 'provider_not_configured'] | None
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
    product_id: str
    quantity: int
    delivered_quantity: int
    unit_price: str
    unit_price_minor: int
    """`unit_price` in minor units, such as cents."""
    cost: str
    cost_minor: int
    """`cost` in minor units, such as cents."""
    charged: str
    charged_minor: int
    """`charged` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    recipient: dict[str, Any]
    project_id: str | None
    """ID of an approved project."""
    provider_reference: str | None
    failure_code: str | None
    """Why it failed."""
    attempts: int
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
    completed_at: str | None
    """When the object was completed."""
    version: int
    """Increases with each change of the object."""


class FulfillmentList(TypedDict):
    """A page of fulfillments."""

    fulfillments: list[FulfillmentView]
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
    completed: int
    partially_completed: int
    failed: int
    canceled: int
    pending: int
    quantity_delivered: int
    cost: NotRequired[dict[str, Any]]
    cost_minor: NotRequired[dict[str, Any]]
    """`cost` in minor units, such as cents."""
    success_rate: str | None
    p50_seconds: int | None
    p95_seconds: int | None


class FulfillmentGroup(TypedDict):
    """The figures of one day, product or status."""

    count: int
    completed: int
    partially_completed: int
    failed: int
    canceled: int
    pending: int
    quantity_delivered: int
    cost: NotRequired[dict[str, Any]]
    cost_minor: NotRequired[dict[str, Any]]
    """`cost` in minor units, such as cents."""
    success_rate: str | None
    p50_seconds: int | None
    p95_seconds: int | None
    key: str


class SystemFee(TypedDict):
    """The platform's fee: a fixed part and a percentage, within bounds."""

    fixed_minor: int
    percent_bps: int
    minimum_minor: int
    maximum_minor: int | None


class NetworkFee(TypedDict):
    """The fee of the rail. `as_of` is the time of an estimate."""

    model: Literal['estimated', 'fixed', 'none']
    amount_minor: int
    as_of: str | None


class ManualReview(TypedDict):
    """Whether operators review every withdrawal, and from which amount on."""

    always_required: bool
    threshold_minor: int


class NetworkFeeEstimate(TypedDict):
    """What the network takes for a payout by the prices of `as_of`, in its coin. You are charged `network_fee`."""

    currency: str
    """Currency code, such as `EUR`."""
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    as_of: str


class SavedRecipientView(TypedDict):
    """GET /withdrawal-recipients/{id}. It can be paid from `active_at` on: in test mode by the test clock."""

    id: str
    """ID of the object."""
    object: Literal['withdrawal_recipient']
    """Type of the object."""
    name: str
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
    created_at: str
    """When the object was created."""


class WithdrawalSettingsView(TypedDict):
    """GET /settings/withdrawals. `turns_off_at`: from then on, withdrawals can go to any recipient."""

    object: Literal['withdrawal_settings']
    """Type of the object."""
    saved_recipients_only: bool
    """Whether withdrawals go only to saved recipients."""
    turns_off_at: str | None
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
    debit_minor: int
    """`debit` in minor units, such as cents."""
    receive: str
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
    webhook_url: str | None
    """URL that receives the events of this object."""
    status: Literal['active', 'ended', 'paused']
    next_run_at: str | None
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
    outcome: Literal['created', 'failed', 'skipped']
    withdrawal_id: str | None
    failure_code: str | None
    """Why it failed."""
    at: str
    object: Literal['withdrawal_schedule_run']
    """Type of the object."""


class ConversionPairView(TypedDict):
    """A currency pair. The rate is in major units, before the fee."""

    from_currency: str
    """Currency that you convert."""
    to_currency: str
    """Currency that you receive."""
    available: bool
    unavailable_reason: Literal['disabled', 'position_limit', 'rate_stale'] | None
    minimum_minor: int
    maximum_minor: int | None
    indicative_rate: str | None
    fee_bps: int
    rate_as_of: str | None
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
    from_currency: str
    """Currency that you convert."""
    from_amount: str
    from_amount_minor: int
    """`from_amount` in minor units, such as cents."""
    to_currency: str
    """Currency that you receive."""
    to_amount: str
    """Amount to receive, instead of `amount`."""
    to_amount_minor: int
    """`to_amount` in minor units, such as cents."""
    rate: str
    fee: str
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
    from_currency: str
    """Currency that you convert."""
    from_amount: str
    from_amount_minor: int
    """`from_amount` in minor units, such as cents."""
    to_currency: str
    """Currency that you receive."""
    to_amount: str
    """Amount to receive, instead of `amount`."""
    to_amount_minor: int
    """`to_amount` in minor units, such as cents."""
    rate: str
    fee: str
    fee_minor: int
    """`fee` in minor units, such as cents."""
    quote_id: str | None
    """ID of a quote to use. A quote can be used once."""
    rule_id: str | None
    transaction_id: str | None
    reversal_id: str | None
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
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class RuleCreator(TypedDict):
    """The creator of a rule: an API key, an application or a dashboard user."""

    type: Literal['api_key', 'dashboard', 'oauth']
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
    link_expiry_minutes: int
    underpayment_tolerance_bps: int
    overpayment: Literal['credit', 'refund_required']
    late_payments: Literal['accept', 'refund_required']
    late_monitoring_days: int
    """Number of days after a link ends during which rails that poll check its address at the normal interval; after that, once a day. Rails that report payments themselves are not affected."""
    success_url: str | None
    """Page that customers return to after paying."""
    cancel_url: str | None
    """Page that customers return to if they do not pay."""
    branding: Branding
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
    webhook_signing_secret_configured: bool
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
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    updated_at: str
    """When the object last changed."""
    secret: NotRequired[str]


class SecretView(TypedDict):
    """A new signing secret, shown once."""

    secret: str


class EventView(TypedDict):
    """An event and its delivery. `payload` is the exact body that is sent."""

    id: str
    """ID of the object."""
    type: str
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    destination_url: str | None
    status: str
    attempts: int
    next_attempt_at: str | None
    delivered_at: str | None
    payload: Any


class EventList(TypedDict):
    """A page of events, newest first."""

    webhook_events: list[EventView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class DeliveryAttempt(TypedDict):
    """A finished attempt to deliver an event."""

    attempt: int
    status: str
    error: str | None
    timestamp: str
    http_status: int | None
    duration_ms: int
    trigger: str


class Cause(TypedDict):
    """The object that changed the balance, with its new status and version."""

    type: str
    id: str
    """ID of the object."""
    status: str
    version: int
    """Increases with each change of the object."""


class TestSubject(TypedDict):
    """The object of a test event."""

    message: str


class Data10(TypedDict):
    object: ConversionView


class ConversionCompletedEvent(TypedDict):
    """A conversion was completed."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['conversion.completed']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data10


class Data11(TypedDict):
    object: TestSubject


class WebhookTestEvent(TypedDict):
    """A test event, sent once on request."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['webhook.test']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data11


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
    confirmations: dict[str, Any]
    """Confirmations required by network: a number of blocks, or `finalized`. Networks that are not listed use the default of GET /currencies. The sandbox simulates the first network of a currency."""
    additional_currencies: NotRequired[list[str]]
    """Currencies in which customers can pay links of another currency, at a rate that is fixed for 15 minutes. Methods by bank transfer are not offered for them."""
    settlement: NotRequired[Literal['convert', 'keep']]
    """What happens with such a payment: it is converted to the currency of the link, or kept in the currency paid."""
    version: int
    """Increases with each change of the object."""


class LinkView(TypedDict):
    """GET /payment-links/{id}."""

    id: str
    """ID of the object."""
    object: Literal['payment_link']
    """Type of the object."""
    url: str
    """URL of the page or endpoint."""
    status: Literal['active', 'canceled', 'completed', 'expired']
    payable: bool
    unpayable_reason: Literal['account_suspended', 'amount_out_of_range', 'disabled_by_merchant', 'disabled_by_operator', 'no_method', 'not_active', 'provider_down', 'provider_not_configured', 'rate_unavailable'] | None
    display_name: str
    description: str | None
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    tax_lines: list[TaxLineView]
    line_items: list[LineItemView]
    quantity: QuantityRange | None
    customer_amount: CustomerAmountView | None
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
    max_payments: int | None
    payments_count: int
    amount_paid: str
    amount_paid_minor: int
    """`amount_paid` in minor units, such as cents."""
    latest_transaction_id: str | None
    created_by: LinkCreator
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
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class CurrencyView(TypedDict):
    """A currency. A chain's `deposit` does not imply its `withdrawal`."""

    code: str
    name: str
    type: Literal['crypto', 'fiat']
    decimals: int
    symbol: str
    operations: CurrencyOperations
    balance_payment_supported: bool
    chains: list[Chain]
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class PaymentMethodView(TypedDict):
    """A payment method of the hosted checkout, available or not."""

    method_id: str
    """ID of a method from the list of methods."""
    name: str
    type: Literal['bank_transfer', 'card', 'crypto', 'simulator']
    network: str
    asset: str
    currencies: list[str]
    settlement_currency: str
    minimum_minor: int
    maximum_minor: int | None
    minimum_refund_minor: int
    fees: Fees
    push: bool
    refundable: bool
    confirmation: Literal['days', 'instant', 'minutes']
    available: bool
    unavailable_reason: Literal['amount_out_of_range', 'currency_not_supported', 'disabled_by_merchant', 'disabled_by_operator', 'not_in_environment', 'project_not_allowed', 'provider_down', 'provider_not_configured', 'rate_unavailable'] | None
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class ProjectList(TypedDict):
    """A page of projects."""

    projects: list[ProjectView]
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
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    fee_refunded: str
    fee_refunded_minor: int
    """`fee_refunded` in minor units, such as cents."""
    exchange: ExchangeView | None
    status: Literal['failed', 'pending', 'succeeded']
    reason: Literal['customer_request', 'duplicate', 'fraudulent', 'other', 'service_issue']
    receiver: str | None
    """Account that receives the money, such as an IBAN or an address."""
    review: Literal['approved', 'not_required', 'rejected', 'required']
    failure_code: str | None
    """Why it failed."""
    provider_reference: str | None
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
    network_fee_minor: int
    """`network_fee` in minor units, such as cents."""


class BalanceView(TypedDict):
    """GET /balances/{currency}. `total` is available + pending + reserved - debt."""

    object: Literal['balance']
    """Type of the object."""
    currency: str
    """Currency code, such as `EUR`."""
    decimals: int
    available: str
    available_minor: int
    """`available` in minor units, such as cents."""
    pending: str
    pending_minor: int
    """`pending` in minor units, such as cents."""
    reserved: str
    reserved_minor: int
    """`reserved` in minor units, such as cents."""
    debt: str
    debt_minor: int
    """`debt` in minor units, such as cents."""
    total: str
    total_minor: int
    """`total` in minor units, such as cents."""
    reserved_breakdown: ReservedBreakdown
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
    account: Literal['available', 'debt', 'pending', 'reserved']
    direction: Literal['credit', 'debit']
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    signed_amount_minor: int
    balance_after: str
    balance_after_minor: int
    """`balance_after` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    type: Literal['adjustment', 'balance_payment_in', 'balance_payment_out', 'balance_payment_refund', 'chargeback', 'chargeback_fee', 'chargeback_reversal', 'conversion_fee', 'conversion_in', 'conversion_out', 'fulfillment', 'fulfillment_refund', 'hold', 'network_fee', 'payment', 'payment_fee', 'refund', 'refund_reversal', 'release', 'settlement', 'test_funding', 'withdrawal', 'withdrawal_fee', 'withdrawal_return']
    source: EntrySource
    oauth_client_id: str | None
    """ID of the application. Null for API keys and the dashboard."""
    description: str
    sequence: int
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class RefundList(TypedDict):
    """A page of refunds."""

    refunds: list[RefundView]
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
    payment_link_id: str
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    method_id: str
    """ID of a method from the list of methods."""
    status: Literal['accepted', 'expired', 'lost', 'needs_response', 'under_review', 'won']
    reason: str
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    fee: str
    fee_minor: int
    """`fee` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    evidence: EvidenceView
    evidence_due_at: str | None
    evidence_submitted_at: str | None
    history: list[DisputeStepView]
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    closed_at: str | None


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
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    network_fee_mode: Literal['add', 'deduct']
    """`deduct` takes fees from the amount, `add` adds them to it. Default: `deduct`."""
    system_fee: str
    system_fee_minor: int
    """`system_fee` in minor units, such as cents."""
    network_fee: str
    network_fee_minor: int
    """`network_fee` in minor units, such as cents."""
    debit: str
    debit_minor: int
    """`debit` in minor units, such as cents."""
    receive: str
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
    provider_reference: str | None
    tx_hash: str | None
    review: ReviewView
    cancelable: bool
    estimated_arrival: str | None
    webhook_url: str | None
    """URL that receives the events of this object."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    description: str | None
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
    completed_at: str | None
    """When the object was completed."""
    version: int
    """Increases with each change of the object."""


class FulfillmentProductList(TypedDict):
    """A page of products."""

    fulfillment_products: list[ProductView]
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
    network: NetworkFee


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
    system_fee_minor: int
    """`system_fee` in minor units, such as cents."""
    network_fee: str
    network_fee_minor: int
    """`network_fee` in minor units, such as cents."""
    debit: str
    debit_minor: int
    """`debit` in minor units, such as cents."""
    receive: str
    receive_minor: int
    """`receive` in minor units, such as cents."""
    manual_review_required: bool
    network_fee_estimate: NetworkFeeEstimate | None
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
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class SavedRecipientList(TypedDict):
    """A page of recipients."""

    withdrawal_recipients: list[SavedRecipientView]
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
    item_count: int
    totals: list[BatchTotal]
    statuses: dict[str, Any]
    withdrawal_ids: list[str]
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""


class WithdrawalScheduleList(TypedDict):
    """A page of schedules."""

    withdrawal_schedules: list[WithdrawalScheduleView]
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
    webhook_url: str | None
    """URL that receives the events of this object."""
    status: Literal['active', 'ended', 'paused']
    next_run_at: str | None
    latest_runs: list[ScheduleRunView]
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
    threshold: str | None
    threshold_minor: int | None
    """`threshold` in minor units, such as cents."""
    percent: int
    enabled: bool
    """Whether it is active."""
    webhook_url: str | None
    """URL that receives the events of this object."""
    created_by: RuleCreator
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
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    created_at: str
    """When the object was created."""
    destination_url: str | None
    status: str
    attempts: int
    next_attempt_at: str | None
    delivered_at: str | None
    payload: Any
    delivery_history: list[DeliveryAttempt]


class Data6(TypedDict):
    object: BalanceView
    source: Cause
    entries: list[EntryView]


class BalanceUpdatedEvent(TypedDict):
    """A balance changed. The payload has the ledger entries and their source."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['balance.updated']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data6


class Data7(TypedDict):
    object: WithdrawalView


class WithdrawalProcessingEvent(TypedDict):
    """A withdrawal is being sent."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['withdrawal.processing']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data7


class WithdrawalCompletedEvent(TypedDict):
    """A withdrawal was sent."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['withdrawal.completed']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data7


class WithdrawalFailedEvent(TypedDict):
    """A withdrawal was rejected or returned. The amount is in the balance again."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['withdrawal.failed']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data7


class CurrencyList(TypedDict):
    """A page of currencies."""

    currencies: list[CurrencyView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class PaymentMethodList(TypedDict):
    """A page of methods."""

    payment_methods: list[PaymentMethodView]
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
    payment_link_id: str
    project_id: str
    """ID of an approved project."""
    external_id: str | None
    """Your own reference, such as an order number. It is returned with the object and in its events."""
    status: Literal['chargeback', 'expired', 'failed', 'partially_refunded', 'pending', 'processing', 'refund_required', 'refunded', 'succeeded']
    amount: str
    """Amount as a decimal string."""
    amount_minor: int
    """`amount` in minor units, such as cents."""
    currency: str
    """Currency code, such as `EUR`."""
    price: PriceView | None
    amount_received: str
    amount_received_minor: int
    """`amount_received` in minor units, such as cents."""
    fee: str
    fee_minor: int
    """`fee` in minor units, such as cents."""
    net: str
    net_minor: int
    """`net` in minor units, such as cents."""
    amount_refunded: str
    amount_refunded_minor: int
    """`amount_refunded` in minor units, such as cents."""
    overpaid: str
    overpaid_minor: int
    """`overpaid` in minor units, such as cents."""
    refundable: bool
    refundable_amount: str
    refundable_amount_minor: int
    """`refundable_amount` in minor units, such as cents."""
    refund_unavailable_reason: Literal['not_refundable_method', 'status', 'window_passed'] | None
    quantity: int | None
    method_id: str
    """ID of a method from the list of methods."""
    method_type: str
    payment_details: PaymentDetails
    failure_code: str | None
    """Why it failed."""
    failure_message: str | None
    refund_required_reason: Literal['after_cancel', 'balance_limit', 'duplicate', 'late', 'position_limit', 'underpaid', 'wrong_asset'] | None
    refund_required_amount: str
    refund_required_amount_minor: int
    """`refund_required_amount` in minor units, such as cents."""
    late: bool
    chargeback: ChargebackView | None
    refunds: list[RefundView]
    timeline: list[TimelineEntryView]
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
    version: int
    """Increases with each change of the object."""


class BalanceList(TypedDict):
    """The balances in every currency that can have one."""

    balances: list[BalanceView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class EntryList(TypedDict):
    """A page of entries."""

    ledger: list[EntryView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class DisputeList(TypedDict):
    """A page of disputes."""

    disputes: list[DisputeView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalMethodView(TypedDict):
    """One withdrawal method, available or not."""

    method_id: str
    """ID of a method from the list of methods."""
    name: str
    currency: str
    """Currency code, such as `EUR`."""
    network: str
    available: bool
    unavailable_reason: Literal['provider_down', 'provider_not_configured'] | Literal['currency_not_supported', 'disabled_by_operator', 'not_in_environment'] | None
    minimum_minor: int
    maximum_minor: int | None
    daily_limit_minor: int | None
    network_fee_modes: list[Literal['add', 'deduct']]
    fees: MethodFees
    receiver_type: Literal['bitcoin_address', 'evm_address', 'iban', 'sandbox']
    provider_fields: dict[str, Any]
    """Further members, described by the JSON Schema `provider_fields` of the method."""
    manual_review: ManualReview
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""


class WithdrawalBatchList(TypedDict):
    """A page of batches."""

    withdrawal_batches: list[WithdrawalBatchView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class ConversionRuleList(TypedDict):
    """A page of rules."""

    conversion_rules: list[ConversionRuleView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class Data(TypedDict):
    object: TransactionView


class PaymentSucceededEvent(TypedDict):
    """A payment was credited: it is confirmed, or the merchant accepted the received amount."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.succeeded']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data


class PaymentFailedEvent(TypedDict):
    """A payment was declined, or its link was canceled before money was received."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.failed']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data


class Data2(TypedDict):
    object: TransactionView | LinkView


class PaymentExpiredEvent(TypedDict):
    """A payment link expired without payment. The object is the latest transaction of the link, or the link itself without one."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.expired']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data2


class Data3(TypedDict):
    object: TransactionView


class PaymentRefundRequiredEvent(TypedDict):
    """An amount was received that does not match: too little, too late, twice, after a cancellation or in another asset. The merchant accepts or refunds it."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.refund_required']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data3


class Data4(TypedDict):
    object: TransactionView
    refund: RefundView


class PaymentRefundedEvent(TypedDict):
    """A refund was paid to the customer; `data.refund` is the refund."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.refunded']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data4


class Data5(TypedDict):
    object: TransactionView
    chargeback: ChargebackView


class PaymentChargebackEvent(TypedDict):
    """A customer disputed a payment; `data.chargeback` is the dispute."""

    id: str
    """ID of the event; the same for every attempt."""
    type: Literal['payment.chargeback']
    created_at: str
    """When the object was created."""
    mode: Literal['live', 'test']
    """Environment that the object belongs to."""
    livemode: bool
    """Whether the object is in the live environment."""
    api_version: Literal['v2']
    sequence: int
    """Increases with each event of the same object."""
    data: Data5


class TransactionList(TypedDict):
    """A page of transactions."""

    transactions: list[TransactionView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


class WithdrawalMethodList(TypedDict):
    """A page of methods."""

    withdrawal_methods: list[WithdrawalMethodView]
    has_more: bool
    """Whether there are more objects after this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page. Null on the last page."""


Event = PaymentSucceededEvent | PaymentFailedEvent | PaymentExpiredEvent | PaymentRefundRequiredEvent | PaymentRefundedEvent | PaymentChargebackEvent | BalanceUpdatedEvent | WithdrawalProcessingEvent | WithdrawalCompletedEvent | WithdrawalFailedEvent | ConversionCompletedEvent | WebhookTestEvent
"""Any event, told apart by its `type`."""
