"""What tables of the rails file share, and secrets that they name. Each kind of table is in the folder of its rail."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from tollhouse.kernel.rails.provider import BLOCK_WITHIN
from tollhouse.platform.settings import values as setting_values

SECRET_BYTES_MAX = 4_096
BLOCK_WITHIN_S = int(BLOCK_WITHIN.total_seconds())

ExplorerUrl = Annotated[str, Meta(pattern=r"^https://[^\s{}]*\{tx\}[^\s{}]*$", max_length=300)]
"""Where people look a transaction up: `{tx}` stands for its hash."""


class RailSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A table of the rails file."""

    def list_errors(self, earlier: Sequence["RailSettings"]) -> Iterator[str]:  # noqa: ARG002 - of the interface
        """Yield what is wrong with the table as a whole. `earlier` are the tables before it in the file."""
        yield from ()


class NodeSettings(RailSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network through a node of the operator. `node_url` and `xpub` are needed by the worker only.

    A transfer that is in a block `block_within_s` after it was seen first counts as of that moment, otherwise as of its
    block.
    """

    node_url: str | None = None
    node_url_file: str | None = None
    xpub: str | None = None
    block_within_s: Annotated[int, Meta(ge=60, le=7 * 86_400)] = BLOCK_WITHIN_S
    explorer_url: ExplorerUrl | None = None

    def read_node_url(self) -> str | None:
        """The address of the node as it is now, with user and password; None if none is set. Raises `ValueError`."""
        return current_secret(self.node_url, self.node_url_file)

    def list_errors(self, earlier: Sequence[RailSettings]) -> Iterator[str]:  # noqa: ARG002 - of the interface
        """Yield what is wrong with the address of the node."""
        if self.node_url is not None and self.node_url_file is not None:
            yield "node_url and node_url_file are both set"
        try:
            url = secret(self.node_url, self.node_url_file)
        except ValueError as error:
            yield f"node_url_file {error}"
            return
        if url is not None and not url.startswith(("http://", "https://")):
            yield "node_url must start with http:// or https://"


def secret(text: str | None, file: str | None) -> str | None:
    """The text of a setting, or of the file that it names; None if neither is set. Raises `ValueError`."""
    if file is None:
        return text
    return setting_values.small_text(setting_values.file(file), SECRET_BYTES_MAX).strip() or None


def current_secret(text: str | None, file: str | None) -> str | None:
    """The text of a setting or its file, for jobs of every second: a file is read again when it has changed.

    Raises `ValueError`.
    """
    if file is None:
        return text
    try:
        found = Path(file).stat()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    return _secret_of(file, found.st_mtime_ns, found.st_ino, found.st_size)


@lru_cache(maxsize=16)
def _secret_of(file: str, _changed_ns: int, _inode: int, _size: int) -> str | None:
    return secret(None, file)
