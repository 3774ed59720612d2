"""The choices that the foot of every page offers: a language, light or dark, and whether letters are shortcuts."""

from starlette.responses import Response

from tollhouse.http.choices import LANGUAGE, SHORTCUTS, THEME, keep, page_after_choice
from tollhouse.http.languages import LANGUAGES
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity import sessions, sessions_store
from tollhouse.identity.guards import visitor

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("POST", "/language", guard=visitor)
async def choose_language(request: Request) -> Response:
    """Keep the language that was chosen, also for what is mailed, and go back to the page where it was."""
    language = request.form().one("language")
    person = await sessions.person_of(request) if language in LANGUAGES else None
    if person is not None and language is not None:
        await sessions_store.speak(request.services.db, person.user_id, language)
    return keep(request, LANGUAGE, see_other(page_after_choice(request)))


@OPERATIONS.add("POST", "/theme", guard=visitor)
async def choose_theme(request: Request) -> Response:
    """The same for light or dark."""
    return keep(request, THEME, see_other(page_after_choice(request)))


@OPERATIONS.add("POST", "/shortcuts", guard=visitor)
async def choose_shortcuts(request: Request) -> Response:
    """The same for the keys of the dashboard."""
    return keep(request, SHORTCUTS, see_other(page_after_choice(request)))
