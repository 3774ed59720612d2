"""Serving uploaded logos: by the hash of their content, so that browsers keep them, and with a policy for images alone."""

from starlette.responses import Response

from tollhouse.accounts.environments import logos_store
from tollhouse.accounts.environments.logos_model import ROOT, digest_of
from tollhouse.accounts.identity.guards import payer
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.static_files import FOREVER
from tollhouse.kernel.errors import NotFound
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
HEADERS = {
    "Cache-Control": FOREVER,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
"""Clients of the API show logos too. An SVG that is opened as a page loads and runs nothing."""


@OPERATIONS.add("GET", "/logos/{name}", guard=payer, errors=(NotFound,))
async def show_logo(name: str, db: Pool) -> Response:
    """The logo with this hash."""
    digest = digest_of(ROOT + name)
    logo = None if digest is None else await logos_store.get(db, digest)
    if logo is None or logo.path != ROOT + name:
        raise NotFound
    return Response(logo.content, 200, HEADERS | {"ETag": f'"{logo.digest.hex()}"'}, logo.media_type)
