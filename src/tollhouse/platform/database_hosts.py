"""Database URLs with several hosts, one of which is the primary: `postgresql://user@db1,db2:5433/tollhouse`."""

from urllib.parse import urlsplit, urlunsplit


def single_host_urls(url: str) -> list[str]:
    """The URL of each host, in the order of the URL."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")]
