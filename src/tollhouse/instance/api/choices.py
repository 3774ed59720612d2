"""The preferences in the footer of every page: language, theme, keyboard shortcuts."""

from starlette.responses import Response

from tollhouse.accounts.identity import sessions, sessions_store
from tollhouse.accounts.identity.guards import visitor
from tollhouse.http.languages import LANGUAGES
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import LANGUAGE, SHORTCUTS, THEME, return_page, save_preference
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("POST", "/language", guard=visitor)
async def choose_language(request: Request) -> Response:
    """Store the language, also for mail, and return to the page."""
    language = request.form().one("language")
    person = await sessions.current_person(request) if language in LANGUAGES else None
    if person is not None and language is not None:
        await sessions_store.set_language(request.services.db, person.user_id, language)
    return save_preference(request, LANGUAGE, see_other(return_page(request)))


@OPERATIONS.add("POST", "/theme", guard=visitor)
async def choose_theme(request: Request) -> Response:
    """Store the theme."""
    return save_preference(request, THEME, see_other(return_page(request)))


@OPERATIONS.add("POST", "/shortcuts", guard=visitor)
async def choose_shortcuts(request: Request) -> Response:
    """Store whether keyboard shortcuts are on."""
    return save_preference(request, SHORTCUTS, see_other(return_page(request)))
