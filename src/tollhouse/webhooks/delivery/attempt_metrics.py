"""Metrics of deliveries: attempts by outcome, how long they take, and how long events wait for their first attempt."""

from collections.abc import Callable
from typing import Literal
from uuid import UUID

from tollhouse.platform.log.metrics import Counter, Durations
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.webhooks.delivery.signed_request import Claim

AttemptKind = Literal["first", "retry", "redelivery", "test"]
KINDS: tuple[AttemptKind, ...] = ("first", "retry", "redelivery", "test")
ERRORS = (
    "dns_error", "connection_refused", "connection_reset", "connect_timeout", "tls_error", "timeout",
    "redirect_not_followed", "bad_response", "blocked_destination", "worker_lost", "signing_secret_missing",
)  # fmt: skip
SUCCEEDED, OTHER = "succeeded", "http_other"
OUTCOMES = (SUCCEEDED, "http_4xx", "http_5xx", OTHER, *ERRORS)
UUID7_TIME_SHIFT = 80
"""The first 48 bits of a UUIDv7 are its time in milliseconds."""

ATTEMPTS = Counter(
    "tollhouse_delivery_attempts",
    "Attempts to deliver an event, by kind and outcome.",
    ("attempt", "outcome"),
    [(kind, outcome) for kind in KINDS for outcome in OUTCOMES],
)
DURATIONS = Durations(
    "tollhouse_delivery_attempt_duration_seconds",
    "Time from the start of an attempt to the response or error.",
    ("outcome",),
    [(SUCCEEDED,), ("failed",)],
)
DELAYS = Durations("tollhouse_delivery_delay_seconds", "Time from the record of an event to the start of its first attempt.")
WAKEUPS = Counter("tollhouse_delivery_wakeups", "Datagrams of this host that woke the worker for a new event.")
observers: list[Callable[[Claim, Outcome], None]] = []
"""What else observes each attempt in this process, such as traces."""


def count_attempt(claim: Claim, outcome: Outcome) -> None:
    """Count an attempt whose result was recorded."""
    for observe in observers:
        observe(claim, outcome)
    kind = kind_of(claim)
    ATTEMPTS.add(kind, outcome_label(outcome))
    DURATIONS.observe(outcome.duration_ms * 1000, SUCCEEDED if outcome.succeeded else "failed")
    if kind == "first" and not claim.held:
        DELAYS.observe(max(0, round(claim.started_at.timestamp() * 1000) - created_at_ms(claim.event_id)) * 1000)


def kind_of(claim: Claim) -> AttemptKind:
    """Whether an attempt is the first of an event, a retry, a redelivery that somebody asked for, or a test event."""
    if claim.trigger == "manual":
        return "redelivery"
    if claim.tries or claim.lost:
        return "retry"
    return "test" if claim.trigger == "test" else "first"


def outcome_label(outcome: Outcome) -> str:
    """The outcome, with a status only by its class: endpoints choose it."""
    if outcome.error is None:
        return SUCCEEDED
    if outcome.error in ERRORS:
        return outcome.error
    label = f"http_{(outcome.http_status or 0) // 100}xx"
    return label if label in OUTCOMES else OTHER


def created_at_ms(event_id: UUID) -> int:
    """When an event was recorded."""
    return event_id.int >> UUID7_TIME_SHIFT
