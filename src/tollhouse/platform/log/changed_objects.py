"""The objects that the current request changes, as its actions note them for its line in the log."""

from collections.abc import Sequence
from contextvars import ContextVar
from uuid import UUID

_noted: ContextVar[list[UUID] | None] = ContextVar("changed_objects", default=None)


def start() -> None:
    """Begin a request."""
    _noted.set([])


def note(object_id: UUID) -> None:
    """Note an object; nothing outside a request."""
    noted = _noted.get()
    if noted is not None:
        noted.append(object_id)


def noted() -> Sequence[UUID]:
    """What was noted in this request, in order. An object may be there twice."""
    return _noted.get() or ()


def keep_first(count: int) -> None:
    """Forget what was noted after so many: a transaction was rolled back."""
    noted = _noted.get()
    if noted is not None:
        del noted[count:]
