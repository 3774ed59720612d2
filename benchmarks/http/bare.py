"""The floor: uvicorn with an application that answers one thing. `python -m benchmarks.http.bare PORT`."""

import sys
from typing import Any

import uvicorn

BODY = b'{"status":"ok"}'
HEAD = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))],
}


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer."""
    del receive
    if scope["type"] == "http":
        await send(HEAD)
        await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    uvicorn.run(application, port=int(sys.argv[1]), lifespan="off", log_config=None, access_log=False)
