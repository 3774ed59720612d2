"""The choices that the foot of every page offers: a language, light or dark, and whether letters are shortcuts."""

from starlette.responses import Response

from tollhouse.callers import sessions, sessions_store
from tollhouse.callers.guards import visitor
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.choices import LANGUAGE, SHORTCUTS, THEME, keep, page_after_choice
from tollhouse.web.languages import LANGUAGES
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("POST", "/language", guard=visitor)
async def choose_language(ask: Ask) -> Response:
    """Keep the language that was chosen, also for what is mailed, and go back to the page where it was."""
    language = ask.form().one("language")
    person = await sessions.person_of(ask) if language in LANGUAGES else None
    if person is not None and language is not None:
        await sessions_store.speak(ask.house.db, person.user_id, language)
    return keep(ask, LANGUAGE, see_other(page_after_choice(ask)))


@OPERATIONS.add("POST", "/theme", guard=visitor)
async def choose_theme(ask: Ask) -> Response:
    """The same for light or dark."""
    return keep(ask, THEME, see_other(page_after_choice(ask)))


@OPERATIONS.add("POST", "/shortcuts", guard=visitor)
async def choose_shortcuts(ask: Ask) -> Response:
    """The same for the keys of the dashboard."""
    return keep(ask, SHORTCUTS, see_other(page_after_choice(ask)))
