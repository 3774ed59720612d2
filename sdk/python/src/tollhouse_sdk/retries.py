"""Requests that are repeated until there is an answer, where repeating is safe, and only then."""

import random
from dataclasses import dataclass

from tollhouse_sdk.errors import ConnectionFailed, retry_after_s
from tollhouse_sdk.steps import Answer, Flow, Send, send, wait

BUSY = frozenset({429, 502, 503, 504})
IN_PROGRESS = b'"idempotency_in_progress"'


@dataclass(frozen=True)
class Retries:
    """How often and how patiently. Pauses double from `first_pause_s`, and are shortened at random by up to a half.

    A longer `Retry-After` is honoured, up to `pause_max_s`; beyond it the error is raised at once, with `retry_after_s`.
    """

    attempts: int = 5
    first_pause_s: float = 0.5
    pause_max_s: float = 60.0

    def pause_s(self, attempt: int, answer: Answer | None) -> float | None:
        """How long to wait after this attempt, from 1; None where another attempt is pointless."""
        if attempt >= self.attempts:
            return None
        pause = min(self.first_pause_s * 2 ** (attempt - 1), self.pause_max_s) * random.uniform(0.5, 1)  # noqa: S311
        asked = retry_after_s(answer) if answer else None
        if asked is None:
            return pause
        return None if asked > self.pause_max_s else max(pause, asked)


def send_repeatedly(request: Send, retries: Retries, *, is_safe: bool) -> Flow[Answer]:
    """The answer. `is_safe`: the request has the same effect when it arrives twice."""
    attempt = 0
    while True:
        attempt += 1
        answer, problem = None, None
        try:
            answer = yield from send(request)
        except ConnectionFailed as failed:
            problem = failed
        if answer is not None and not _is_passing(answer):
            return answer
        may_repeat = is_safe or (problem is not None and not problem.was_sent)
        pause = retries.pause_s(attempt, answer) if may_repeat else None
        if pause is None:
            if problem is not None:
                raise problem
            assert answer is not None  # noqa: S101 - one of the two is there
            return answer
        yield from wait(pause)


def _is_passing(answer: Answer) -> bool:
    return answer.status in BUSY or (answer.status == 409 and IN_PROGRESS in answer.content)  # noqa: PLR2004
