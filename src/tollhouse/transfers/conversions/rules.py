"""Conversion rules: created, updated and deleted by merchants, applied by the worker once to every balance entry."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import changes
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.lists import all_rows
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.conversions import actions, prices, rules_store, store
from tollhouse.transfers.conversions.actions import currency_errors, pair_of
from tollhouse.transfers.conversions.model import (
    Conversion,
    ConversionRule,
    Exchange,
    PairUnavailable,
    RuleChanged,
    RuleConflict,
    RuleCreator,
    Trigger,
    exchange_from,
)
from tollhouse.transfers.conversions.rules_store import BalanceChange
from tollhouse.transfers.gate import gate, spending
from tollhouse.transfers.orders import quotes
from tollhouse.transfers.orders.quotes import destination_errors

PERCENT = 100
RETRY = timedelta(seconds=60)
RULES_MAX = 1_000
"""Above the number of currencies: a merchant has at most one rule for each."""
BATCH_SIZE = 50


class NewConversionRule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rule to create. `threshold` is for the trigger `on_threshold` only."""

    from_currency: str
    to_currency: str
    trigger: Annotated[Trigger, example("on_payment")]
    """`on_payment` converts a share of each payment, `on_threshold` a share of the balance when it reaches `threshold`."""
    threshold: Amount = None
    """Balance from which the rule `on_threshold` converts."""
    percent: Annotated[int, Meta(ge=1, le=100), example(100)] = PERCENT
    """Share to convert, in percent."""
    enabled: bool = True
    webhook_url: str | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.caller.env, context.settings, context.catalogue)


class ConversionRuleUpdate(NewConversionRule, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The complete updated rule; `version` is the one that was retrieved."""

    version: int


async def create(work: Work, env: MerchantEnv, created_by: RuleCreator, new: NewConversionRule) -> ConversionRule:
    """Create a rule, which counts entries from now on. Raises `ValidationFailed`, `CurrencyNotSupported`, `RuleConflict`."""
    threshold_minor = _parse_threshold(new, env, work.services.settings, work.services.catalogue)
    rule = ConversionRule(
        id=new_id(),
        env=env,
        threshold_minor=threshold_minor,
        **_settings(new),
        created_by=created_by,
        version=1,
        created_at=work.now,
        updated_at=work.now,
    )
    await _ensure_no_conflict(work.tx, rule)
    await spending.ensure_standing_order(work, env, "conversions", rule.from_currency)
    # Nothing below this line may refuse.
    await _record_audit(work, "rule.made", None, rule)
    return await rules_store.insert(work.tx, rule)


async def update(work: Work, env: MerchantEnv, rule_id: UUID, new: ConversionRuleUpdate) -> ConversionRule:
    """Update a rule. Raises `NotFound`, `RuleChanged` and the errors of `create`."""
    threshold_minor = _parse_threshold(new, env, work.services.settings, work.services.catalogue)
    await rules_store.lock_merchant(work.tx, env)
    current = await rules_store.get(work.tx, env, rule_id)
    if current.version != new.version:
        raise RuleChanged(current.version)
    rule = msgspec.structs.replace(current, threshold_minor=threshold_minor, **_settings(new))
    await _ensure_no_conflict(work.tx, rule)
    await spending.ensure_standing_order(work, env, "conversions", rule.from_currency)
    # Nothing below this line may refuse.
    updated = await rules_store.update(work.tx, rule, work.now)
    await _record_audit(work, "rule.changed", current, updated)
    return updated


async def delete(work: Work, env: MerchantEnv, rule_id: UUID) -> ConversionRule:
    """Delete a rule. Its conversions are kept. Raises `NotFound`."""
    deleted = await rules_store.delete(work.tx, env, rule_id)
    await _record_audit(work, "rule.ended", deleted, deleted)
    return deleted


async def apply(work: Work, env: MerchantEnv, rule_id: UUID) -> Conversion | None:
    """Apply a rule to the entries since its last run; None where nothing is to convert now.

    The conversion and the progress are one transaction, so every entry counts once.
    """
    rule = await rules_store.lock_enabled(work.tx, env, rule_id)
    if rule is None:
        return None
    change = await rules_store.get_balance_change(work.tx, rule)
    waiting_minor = max(0, rule.waiting_minor + change.paid_minor) if rule.trigger == "on_payment" else 0
    convertible_minor = _convertible(rule, change, waiting_minor)
    terms = work.services.catalogue.pair(rule.from_currency, rule.to_currency)
    if convertible_minor < terms.minimum_minor:
        await rules_store.record_progress(work.tx, rule, change.version, waiting_minor, rule.runs, None)
        return None
    current = await prices.get_rate(work.tx, env.mode, terms, work.now)
    if current.rate is None or current.unavailable_reason is not None:  # the same entries count again later
        await rules_store.record_progress(work.tx, rule, rule.seen_version, rule.waiting_minor, rule.runs, work.now + RETRY)
        return None
    amount_minor = convertible_minor if terms.maximum_minor is None else min(convertible_minor, terms.maximum_minor)
    exchange = exchange_from(terms, current.rate, amount_minor, work.services.catalogue)
    if exchange.to_amount_minor <= 0:
        await rules_store.record_progress(work.tx, rule, change.version, waiting_minor, rule.runs, None)
        return None
    conversion = _conversion(rule, exchange, work.now)
    remaining_minor = (
        0 if amount_minor == convertible_minor else max(0, waiting_minor - amount_minor * PERCENT // rule.percent)
    )
    await gate.let_leave(work.tx, env.merchant_id)
    await actions.execute(work, conversion)
    await rules_store.record_progress(
        work.tx, rule, change.version, remaining_minor, rule.runs + 1, work.now if remaining_minor else None
    )
    return conversion


async def postpone(tx: Tx, env: MerchantEnv, rule_id: UUID, now: datetime) -> None:
    """Retry a rule later, because the result would exceed the limit of the balance or of a position."""
    rule = await rules_store.lock_enabled(tx, env, rule_id)
    if rule is not None:
        await rules_store.record_progress(tx, rule, rule.seen_version, rule.waiting_minor, rule.runs, now + RETRY)


async def _record_audit(work: Work, action: AuditEventType, before: ConversionRule | None, after: ConversionRule) -> None:
    name = f"{after.from_currency} → {after.to_currency}"
    changed = changes(
        {} if before is None else _audited_members(before, work.services.catalogue),
        _audited_members(after, work.services.catalogue),
    )
    await record.event(work, after.env, action, subject=after.id, name=name, changed=changed)


def _audited_members(rule: ConversionRule, catalogue: Catalogue) -> Mapping[str, object]:
    """The members of a rule that the audit log compares."""
    threshold = None if rule.threshold_minor is None else catalogue.priced(rule.threshold_minor, rule.from_currency)
    return _settings(rule) | {"threshold": threshold}


def _settings(rule: NewConversionRule | ConversionRule) -> dict[str, Any]:
    names = ("from_currency", "to_currency", "trigger", "percent", "enabled", "webhook_url")
    return {name: getattr(rule, name) for name in names}


def _convertible(rule: ConversionRule, change: BalanceChange, waiting_minor: int) -> int:
    """The amount that the rule would convert now, before the limits of the pair."""
    if rule.trigger == "on_payment":
        return min(waiting_minor * rule.percent // PERCENT, change.available_minor)
    reached = rule.threshold_minor is not None and change.available_minor >= rule.threshold_minor
    return change.available_minor * rule.percent // PERCENT if reached and change.grew else 0


def _conversion(rule: ConversionRule, exchange: Exchange, now: datetime) -> Conversion:
    return Conversion(
        id=new_id(),
        env=rule.env,
        exchange=exchange,
        quote_id=None,
        rule_id=rule.id,
        rule_step=rule.runs + 1,
        webhook_url=rule.webhook_url,
        external_id=None,
        metadata={},
        created_at=now,
    )


def _parse_threshold(new: NewConversionRule, env: MerchantEnv, settings: Settings, catalogue: Catalogue) -> int | None:
    """The threshold in minor units. Raises `ValidationFailed` with every error, then `CurrencyNotSupported`."""
    if field_errors := list(_field_errors(new, env, settings, catalogue)):
        raise ValidationFailed(*field_errors)
    pair_of(new.from_currency, new.to_currency, catalogue)
    return minor_of(new.threshold, catalogue.currencies[new.from_currency])


def _field_errors(
    new: NewConversionRule, env: MerchantEnv, settings: Settings, catalogue: Catalogue
) -> Iterator[FieldError]:
    known = catalogue.currencies.get(new.from_currency)
    yield from currency_errors(new.from_currency, new.to_currency, catalogue)
    yield from destination_errors(new.webhook_url, env, settings)
    if new.trigger == "on_threshold" and minor_of(new.threshold, known) is None:
        yield amount_error(known, "threshold")
    if new.trigger == "on_payment" and new.threshold is not None:
        yield FieldError("threshold", "invalid_value", "Omit this member unless trigger is on_threshold.")


async def _ensure_no_conflict(tx: Tx, rule: ConversionRule) -> None:
    """One rule converts from each currency, and rules form no cycle. Raises `RuleConflict`."""
    await rules_store.lock_merchant(tx, rule.env)
    others = {
        other.from_currency: other
        for other in await rules_store.list_rules(tx, rule.env, all_rows(RULES_MAX))
        if other.id != rule.id
    }
    if rule.from_currency in others:
        raise RuleConflict(others[rule.from_currency].id)
    following = others.get(rule.to_currency)
    while following is not None:
        if following.to_currency == rule.from_currency:
            raise RuleConflict(following.id)
        following = others.get(following.to_currency)


async def apply_rules(services: Services) -> None:
    """Apply the rules that are due, each in its own transaction."""
    now = clock.now()
    for env, rule_id in await rules_store.list_due(services.db, now, BATCH_SIZE):
        try:
            await services.transact(lambda work, env=env, rule_id=rule_id: apply(work, env, rule_id), now)
        except (BalanceLimitExceeded, PairUnavailable) as error:  # rolled back, so the same entries count again
            log.info("conversion_rule_failed", detail=error.code)
            await services.db.transact(lambda tx, env=env, rule_id=rule_id: postpone(tx, env, rule_id, now))
        except ApiError as error:  # the balance changed meanwhile; the rule stays due
            log.info("conversion_rule_failed", detail=error.code)


async def read_prices(services: Services) -> None:
    """Read the configured source of prices when it is due."""
    feed = services.catalogue.price_feed
    if feed is not None:
        await prices.read_feed(services, feed, clock.now())


async def delete_old_quotes(services: Services) -> None:
    """Delete quotes that expired long ago."""
    await services.db.execute(store.DELETE_OLD_QUOTES, clock.now() - quotes.RETENTION)
