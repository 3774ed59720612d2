"""Requests and their durations by operation."""

from collections.abc import Sequence

from starlette.responses import Response

from tollhouse.http.operations import Operation
from tollhouse.http.request import Request
from tollhouse.platform.log.metrics import INSTANCE, Counter, Durations, observe_duration

STATUSES = ("2xx", "3xx", "4xx", "5xx")
NO_OPERATION = ("none", "none")
"""The labels of requests to unknown paths and methods."""


class RequestMetrics:
    """Counts requests, as a `RequestRecorder`. Labels are surface and handler, whose number does not depend on input."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        known = list(dict.fromkeys([*map(operation_labels, operations), NO_OPERATION]))
        self.requests = Counter(
            "tollhouse_http_requests",
            "Requests by operation and class of status.",
            ("surface", "operation", "status"),
            [(*labels, status) for labels in known for status in STATUSES],
            sparse=True,
        )
        self.durations = Durations(
            "tollhouse_http_request_duration_seconds",
            "Time from the head of a request to its response by operation.",
            ("surface", "operation"),
            known,
            sparse=True,
        )
        self._places = {id(operation): self._place(operation_labels(operation)) for operation in operations}
        self._places[id(None)] = self._place(NO_OPERATION)

    def record(self, request: Request, operation: Operation | None, response: Response, duration_us: int) -> None:
        """Count a request."""
        del request
        statuses, durations = self._places[id(operation)]
        INSTANCE.own[statuses + response.status_code // 100 - 2] += 1
        observe_duration(durations, duration_us)

    def _place(self, labels: tuple[str, str]) -> tuple[int, int]:
        """The column of the first status, and the first one of the durations."""
        return self.requests.column(*labels, STATUSES[0]), self.durations.column(*labels)


def operation_labels(operation: Operation) -> tuple[str, str]:
    """Surface and handler, as in docs/routes.txt."""
    handler = operation.handler
    return operation.surface.name, f"{handler.__module__.removeprefix('tollhouse.')}.{handler.__name__}"
