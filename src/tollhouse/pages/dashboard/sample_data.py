"""The button that creates sample data in the test environment, once for each page that shows it: the form has a key."""

from datetime import timedelta
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.rails.sandbox import sample_data

OPERATIONS = Operations(PAGES)
HOUR = timedelta(hours=1)


@OPERATIONS.add("POST", "/{mode}/sample-data", guard=signed_in_page, errors=(RateLimited,))
async def make(request: Request, caller: Person, mode: str) -> Response:
    """Create sample data, once for each page that shows the button."""
    env = caller.env(mode)
    if env.livemode:
        raise NotFound
    key = request.form().one("key") or ""
    if parse_id(key) is None:
        raise ValidationFailed(FieldError("key", "invalid_value", messages.A_UUID))
    limit = limits.SAMPLE_DATA_PER_HOUR_MAX * request.services.settings.rate_limits
    runs = FailureLimit("sample data of", str(env.merchant_id), limit, HOUR)

    async def action(work: Work) -> None:
        async def once() -> UUID:
            await throttle.count_attempt(work.tx, (runs,), request.now)
            await sample_data.make(work, env)
            return new_id()

        await create_once(work, env, key, request.path, once)

    await request.transact(action)
    return see_other(f"/{env.mode}/home?done=sample-data")
