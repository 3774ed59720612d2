"""The page that ends all API keys and connections of a mode at once. It names what there is before it asks."""

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.merchants import stopping, store
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
PATH = "/{mode}/developers/stop"


@OPERATIONS.add("GET", PATH, guard=signed_in_page("developers"))
async def confirm(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """How many keys, connections and waiting proposals there are, and what stopping them means."""
    done = flash_message(request.query) == "stopped"
    figures = await store.count_credentials(request.services.db, env, request.now)
    return render(request, caller, "account/stop_everything", here="keys", figures=figures, done=done)


@OPERATIONS.add("POST", PATH, guard=signed_in_page_while_suspended("developers"))
async def stop(caller: Person, env: MerchantEnv, work: Work) -> Response:
    """Stop everything of this mode. Suspended merchants can do this, too. A repeated request succeeds."""
    await stopping.stop_everything(work, caller, env.mode)
    return see_other(f"/{env.mode}/developers/stop?done=stopped")
