"""The dashboard's pages of projects.

A form posted twice creates one project. A change names the state it was made from, so that concurrent changes are detected.
"""

from datetime import datetime
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.environments import projects, store
from tollhouse.accounts.environments.model import ProjectFacts, ReviewedProject
from tollhouse.accounts.idempotency.claims import IdempotencyKeyReused, create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.settings.projects_api import ProjectBody
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, flash_message, form_errors_of
from tollhouse.http.lists import LongPageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.clock import parse_time_or_date, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id_text, parse_id
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
FIELDS = ("name", "website_url", "description")
NOTICES = {
    "opened": "Project created.",
    "sent": "Project submitted for review.",
    "saved": "Project saved.",
    "changes_sent": "Changes submitted for review.",
}
ALREADY_CREATED = "This form has already created a project. Submit it again to create another one."
CHANGED = "The project was changed in the meantime. Your entries are shown below. Save again to overwrite the changes."


class ProjectForm(Struct, frozen=True):
    """The fields of the form."""

    name: str = ""
    website_url: str = ""
    description: str = ""

    def facts(self) -> ProjectFacts:
        """The facts of the project. Raises `ValidationFailed`."""
        body = ProjectBody(
            name=self.name, website_url=self.website_url or None, description=self.description.replace("\r\n", "\n") or None
        )
        return body.facts()


class ProjectsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?done=&page=` of the list."""

    done: str = ""


@OPERATIONS.add("GET", "/{mode}/projects", guard=signed_in_page("read"))
async def list_projects(request: Request, caller: Person, env: MerchantEnv, query: ProjectsPageQuery) -> Response:
    """List the projects of this environment, newest first."""
    shown, more = query.cut(await store.every(request.services.db, env.merchant_id, env.mode, query.window))
    return render(
        request,
        caller,
        "settings/projects",
        here="projects",
        projects=[(project, stamp(project.created_at)) for project in shown],
        notice=NOTICES.get(query.done, ""),
        query=query,
        page_links=query.links(shown, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/projects/new", guard=signed_in_page("settings"))
async def new_project(request: Request, caller: Person, env: MerchantEnv) -> Response:  # noqa: ARG001 - another mode is not found
    """Show the form for a new project."""
    return _new(request, caller, ProjectForm())


@OPERATIONS.add("POST", "/{mode}/projects/new", guard=signed_in_page("settings"), recent_authentication="live")
async def open_project(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Create a project. Live projects require an operator's approval."""
    form = request.form()
    project_form, key = _read_form(form), form.one("key") or ""
    try:
        facts = project_form.facts()
    except ValidationFailed as error:
        return _new(request, caller, project_form, form_errors_of(error, FIELDS))
    if parse_id(key) is None:
        return _new(request, caller, project_form)

    async def once(work: Work) -> UUID:
        async def make() -> UUID:
            return (await projects.open_project(work, env, facts)).id

        return await create_once(work, env, key, (request.path, project_form), make)

    try:
        await request.transact(once)
    except IdempotencyKeyReused as error:
        return _new(request, caller, project_form, FormErrors(ALREADY_CREATED, status=error.status))
    return see_other(f"/{env.mode}/projects?done={'sent' if env.livemode else 'opened'}")


@OPERATIONS.add("GET", "/{mode}/projects/{project_id}", guard=signed_in_page("read"))
async def project(request: Request, caller: Person, env: MerchantEnv, project_id: UUID) -> Response:
    """Show a project with its form."""
    current = await _current(request, env, project_id)
    facts = current.requested_facts
    project_form = ProjectForm(facts.name, facts.website_url or "", facts.description or "")
    notice = NOTICES.get(flash_message(request.query), "")
    return _project(request, caller, current, project_form, notice=notice)


@OPERATIONS.add("POST", "/{mode}/projects/{project_id}", guard=signed_in_page("settings"), recent_authentication="live")
async def change_project(request: Request, caller: Person, env: MerchantEnv, project_id: UUID) -> Response:
    """Save a project unless it changed. A rejected one is reviewed again, changes of an approved live one are reviewed."""
    form = request.form()
    project_form, seen = _read_form(form), parse_time_or_date(form.one("seen") or "")
    current = await _current(request, env, project_id)
    try:
        facts = project_form.facts()
    except ValidationFailed as error:
        return _project(request, caller, current, project_form, form_errors_of(error, FIELDS), seen=seen)

    async def change(work: Work) -> ReviewedProject | None:
        return None if seen is None else await projects.change_as_seen(work, env, project_id, facts, seen)

    changed = await request.transact(change)
    if changed is None:
        changed = await _current(request, env, project_id)
        if changed.requested_facts != facts:
            return _project(request, caller, changed, project_form, FormErrors(CHANGED, status=409))
    done = "saved" if changed.pending_changes is None else "changes_sent"
    return see_other(f"/{env.mode}/projects/{project_id}?done={done}")


async def _current(request: Request, env: MerchantEnv, project_id: UUID) -> ReviewedProject:
    found = await store.one(request.services.db, env, project_id)
    if found is None:
        raise NotFound
    return found


def _read_form(form: Form) -> ProjectForm:
    return ProjectForm(*(form.one(name) or "" for name in FIELDS))


def _new(request: Request, person: Person, project_form: ProjectForm, form_errors: FormErrors = NO_ERRORS) -> Response:
    return render(
        request,
        person,
        "settings/project_new",
        here="projects",
        form=project_form,
        form_errors=form_errors,
        key=new_id_text(),
    )


def _project(
    request: Request,
    person: Person,
    current: ReviewedProject,
    project_form: ProjectForm,
    form_errors: FormErrors = NO_ERRORS,
    *,
    seen: datetime | None = None,
    notice: str = "",
) -> Response:
    return render(
        request,
        person,
        "settings/project",
        mode=current.mode,
        here="projects",
        project=current,
        form=project_form,
        form_errors=form_errors,
        notice=notice,
        seen=stamp(seen or current.updated_at),
        opened=stamp(current.created_at),
    )
