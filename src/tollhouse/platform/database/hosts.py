"""Database URLs with several hosts, one of which is the primary: `postgresql://user@db1,db2:5433/tollhouse`."""

import re

PARTS = re.compile(r"(?P<before>[^:/?#]+://(?:[^/?#]*@)?)(?P<hosts>[^/?#]*)(?P<after>.*)", re.DOTALL)


def single_host_urls(url: str) -> list[str]:
    """The URL of each host, in the order of the URL.

    `urllib` refuses a list of hosts with an IPv6 address, in some versions of Python.
    """
    parts = PARTS.fullmatch(url)
    if parts is None:
        return [url]
    return [f"{parts['before']}{host}{parts['after']}" for host in parts["hosts"].split(",")]
