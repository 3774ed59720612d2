"""How the C library keeps freed memory."""

import ctypes
from contextlib import suppress

M_MMAP_THRESHOLD = -3
LARGE_BYTES = 1024 * 1024


def return_large_blocks() -> None:
    """Let freed blocks from 1 MiB on go back to the system at once, in this process and its forks.

    By default glibc raises that limit to 32 MiB as such blocks are freed. Hashing passwords then keeps 20 MiB in each of
    its threads.
    """
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
