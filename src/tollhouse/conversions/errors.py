"""How requests about conversions are refused."""

from uuid import UUID

from tollhouse.kernel.errors import ApiError, FieldError


class CurrencyNotSupported(ApiError):
    """422: one of the currencies cannot be converted."""

    code, status, message = "currency_not_supported", 422, "Conversions are not possible in this currency."

    def __init__(self, *members: str) -> None:
        super().__init__(field_errors=[FieldError(member, self.code, self.message) for member in members])


class PairUnavailable(ApiError):
    """422: the pair cannot be converted now; `details.unavailable_reason` says why."""

    code, status, message = "method_unavailable", 422, "This pair cannot be converted now."

    def __init__(self, reason: str) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}})


class AmountBelowMinimum(ApiError):
    """422: less than the pair takes, or so little that nothing would come of it."""

    code, status, message = "amount_below_minimum", 422, "The amount is below the minimum of the pair."

    def __init__(self, minimum_minor: int) -> None:
        super().__init__(members={"details": {"minimum_minor": minimum_minor}})


class AmountAboveMaximum(ApiError):
    """422: more than the pair takes."""

    code, status, message = "amount_above_maximum", 422, "The amount is above the maximum of the pair."

    def __init__(self, maximum_minor: int) -> None:
        super().__init__(members={"details": {"maximum_minor": maximum_minor}})


class PriceChanged(ApiError):
    """422: less would be got than was asked for at least."""

    code, status, message = "price_changed", 422, "Less would be got than min_to_amount."

    def __init__(self, to_amount_minor: int) -> None:
        super().__init__(members={"details": {"to_amount_minor": to_amount_minor}})


class QuoteExpired(ApiError):
    """409: the time of the quote is over."""

    code, status, message = "quote_expired", 409, "The quote has expired: ask for a new one."


class QuoteAlreadyUsed(ApiError):
    """409: another conversion was made with the quote."""

    code, status, message = "quote_already_used", 409, "The quote was used before: ask for a new one."


class RuleConflict(ApiError):
    """409: another rule converts from this currency, or the rules would go round in a circle."""

    code, status, message = "conversion_rule_conflict", 409, "Another rule stands against this one."

    def __init__(self, conflicting_id: UUID) -> None:
        super().__init__(members={"details": {"conflicting_id": str(conflicting_id)}})


class RuleChanged(ApiError):
    """409: the rule was changed since it was read."""

    code, status, message = "conversion_rule_changed", 409, "The rule has changed: read it again."

    def __init__(self, version: int) -> None:
        super().__init__(members={"details": {"version": version}})
