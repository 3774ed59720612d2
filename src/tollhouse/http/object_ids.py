"""The objects that a request names, makes or changes, for its line in the log."""

import re
from collections.abc import Iterator

from starlette.responses import Response

from tollhouse.http.cookies import SAFE
from tollhouse.http.request import Request
from tollhouse.kernel.ids import ID_PATTERN, parse_id
from tollhouse.platform.log import changed_objects

IDS_MAX = 20
"""A request that changes more has the first ones."""
ERROR = 400
ID = re.compile(ID_PATTERN)
BODY_OF_OBJECT = re.compile(rb'\{"id":"([0-9a-f-]{36})"')


def ids_of(request: Request, response: Response) -> list[str]:
    """What its actions changed and, unless it only reads, the objects in its path and in its response."""
    found = dict.fromkeys(map(str, changed_objects.noted()))
    if request.method not in SAFE:
        found |= dict.fromkeys(value for value in request.params.values() if parse_id(value) is not None)
        if response.status_code < ERROR:
            found |= dict.fromkeys(_made(response))
    return list(found)[:IDS_MAX]


def _made(response: Response) -> Iterator[str]:
    """The object that the body is, or to whose page the response redirects."""
    body = BODY_OF_OBJECT.match(getattr(response, "body", b""))  # a streamed one has none
    if body is not None:
        yield body[1].decode()
    yield from ID.findall(response.headers.get("location", "").partition("?")[0])
