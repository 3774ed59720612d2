"""The frame of the dashboard's pages."""

from typing import Any

from starlette.responses import Response

from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors
from tollhouse.http.request import Request
from tollhouse.http.responses import page


def render(
    request: Request,
    person: Person,
    template: str,
    status: int | None = None,
    /,
    *,
    here: str,
    form_errors: FormErrors = NO_ERRORS,
    **values: Any,
) -> Response:
    """A page of the dashboard. `here` is its entry in the menu. The status is that of the errors, unless one is given."""
    shown: dict[str, Any] = {"person": person, "here": here, "form_errors": form_errors, **values}
    return page(request, f"dashboard/{template}.html", form_errors.status if status is None else status, **shown)
