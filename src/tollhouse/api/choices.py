"""The preferences in the footer of every page: language, theme, keyboard shortcuts."""

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
    """Store the language, also for mail, and return to the page."""
    language = request.form().one("language")
    person = await sessions.person_of(request) if language in LANGUAGES else None
    if person is not None and language is not None:
        await sessions_store.speak(request.services.db, person.user_id, language)
    return keep(request, LANGUAGE, see_other(page_after_choice(request)))


@OPERATIONS.add("POST", "/theme", guard=visitor)
async def choose_theme(request: Request) -> Response:
    """Store the theme."""
    return keep(request, THEME, see_other(page_after_choice(request)))


@OPERATIONS.add("POST", "/shortcuts", guard=visitor)
async def choose_shortcuts(request: Request) -> Response:
    """Store whether keyboard shortcuts are on."""
    return keep(request, SHORTCUTS, see_other(page_after_choice(request)))
