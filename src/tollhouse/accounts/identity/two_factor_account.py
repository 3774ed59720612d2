"""The account of the pages about second factors and passkeys: a user's or an operator's."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.assertions import Holder
from tollhouse.http.request import Request
from tollhouse.kernel.errors import ApiError


class TwoFactorAccount(Struct, frozen=True):
    """The account, the path of its first page, and how a page is rendered."""

    holder: Holder
    root: str
    render: Callable[..., Response]

    def show(self, template: str, error: ApiError | None = None, /, **context: object) -> Response:
        """A page, with the message of an error."""
        status, message = (200, "") if error is None else (error.status, error.message)
        response = self.render(
            f"identity/{template}.html", status, root=self.root, email=self.holder.email, message=message, **context
        )
        response.headers.update({} if error is None else error.headers)
        return response


AccountOf = Callable[[Request, Any], TwoFactorAccount]
