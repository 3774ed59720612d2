"""Errors of conversions."""

from uuid import UUID

from tollhouse.kernel.errors import ApiError


class PairUnavailable(ApiError):
    """422: the pair is unavailable; `details.unavailable_reason` says why."""

    code, status, message = "method_unavailable", 422, "This currency pair is currently unavailable."

    def __init__(self, reason: str) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}})


class RateUnavailable(ApiError):
    """422: what a refund costs cannot be converted now; `details.unavailable_reason` says why."""

    code, status = "pair_unavailable", 422
    message = "This refund needs a conversion, for which there is no rate at the moment. Try again later."

    def __init__(self, reason: str) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}})


class RuleConflict(ApiError):
    """409: another rule converts from this currency, or the rules would form a cycle."""

    code, status, message = "conversion_rule_conflict", 409, "The rule conflicts with another rule."

    def __init__(self, conflicting_id: UUID) -> None:
        super().__init__(members={"details": {"conflicting_id": str(conflicting_id)}})


class RuleChanged(ApiError):
    """409: the rule was changed since it was read."""

    code, status, message = "conversion_rule_changed", 409, "The rule has changed. Retrieve it and try again."

    def __init__(self, version: int) -> None:
        super().__init__(members={"details": {"version": version}})
