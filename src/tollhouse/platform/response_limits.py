"""Limits of HTTP responses that are received: everything besides head and body, such as endless hints, is counted, too."""

import asyncio
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from tollhouse.kernel.limits import DELIVERY_ANSWER_BYTES_MAX


class Connector(aiohttp.TCPConnector):
    """Connections that are closed when a response is too long."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)  # pyright: ignore[reportUnknownMemberType]
        self._factory = partial(_Ear, loop=asyncio.get_running_loop())


class _Ear(ResponseHandler):
    """Counts the bytes of each response of one connection."""

    _left = DELIVERY_ANSWER_BYTES_MAX

    def set_response_params(self, **params: Any) -> None:
        """Start counting the next response."""
        self._left = DELIVERY_ANSWER_BYTES_MAX
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Pass data up to the limit, and close the connection beyond it."""
        accepted = data[: self._left]
        self._left -= len(accepted)
        super().data_received(accepted)
        if len(accepted) < len(data) and self.transport is not None:
            self.set_exception(aiohttp.ClientPayloadError("too long"))
            self.transport.abort()
