"""The choice of a language, which the foot of every page offers."""

from starlette.responses import Response

from tollhouse.callers.guards import visitor
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.language_choice import keep, page_after_choice
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("POST", "/language", guard=visitor)
async def choose(ask: Ask) -> Response:
    """Keep the language that was chosen, and go back to the page where it was."""
    return keep(ask, see_other(page_after_choice(ask)))
