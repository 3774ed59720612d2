"""How much of an answer is heard: what comes beside head and body, such as hints without end, costs us time too."""

import asyncio
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from tollhouse.kernel.limits import DELIVERY_ANSWER_BYTES_MAX


class Connector(aiohttp.TCPConnector):
    """Connections that stop listening when an answer is too long."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)  # pyright: ignore[reportUnknownMemberType]
        self._factory = partial(_Ear, loop=asyncio.get_running_loop())


class _Ear(ResponseHandler):
    """One connection's: so many bytes for each answer."""

    _left = DELIVERY_ANSWER_BYTES_MAX

    def set_response_params(self, **params: Any) -> None:
        """Begin to listen to the next answer."""
        self._left = DELIVERY_ANSWER_BYTES_MAX
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Take what still counts, and hang up where there is more."""
        heard = data[: self._left]
        self._left -= len(heard)
        super().data_received(heard)
        if len(heard) < len(data) and self.transport is not None:
            self.set_exception(aiohttp.ClientPayloadError("too long"))
            self.transport.abort()
