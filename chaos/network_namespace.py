"""A network namespace with its own name server, in which an experiment runs: no packet leaves this machine.

Needs root, `unshare` and `ip`. Inside, the resolver is 127.53.0.53 and the only interface is loopback.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAME_SERVER = ("127.53.0.53", 53)
MARK = "TOLLHOUSE_CHAOS_NAMESPACE"
RESOLVER = f"nameserver {NAME_SERVER[0]}\n"
PREPARE = """
    set -e
    ip link set lo up
    mount --bind "$1" /etc/resolv.conf
    rm "$1"
    shift
    exec "$@"
"""
CANARY, OWN_ADDRESS = "canary", "203.0.113.1/32"
PREPARE_CANARY = """
    set -e
    ip link add {canary} type veth peer name cage
    for one in {canary} cage; do
        ip link set "$one" addrgenmode none
        ip link set "$one" arp off
        ip link set "$one" up
    done
    ip addr add {own} dev {canary}
    for network in {private}; do ip route add "$network" dev {canary}; done
    ip route add local {public} dev lo src 127.0.0.1
"""


def enter() -> None:
    """Run this command again inside the namespace, unless it is there already. Exits if that is not possible."""
    if os.environ.get(MARK):
        return
    if os.geteuid() != 0:
        sys.exit("This experiment needs root: it creates a network namespace with its own name server.")
    with tempfile.NamedTemporaryFile("w", prefix="tollhouse-resolver-", delete=False) as resolver:
        resolver.write(RESOLVER)
    again = [sys.executable, "-m", "chaos", *sys.argv[1:]]
    command = ["unshare", "--net", "--mount", "sh", "-c", PREPARE, "sh", resolver.name, *again]
    os.execvpe(command[0], command, os.environ | {MARK: "1"})  # noqa: S606 - our own command


def prepare_canary(private: list[str], public: str) -> None:
    """Route private networks to an interface that counts packets, and the public network to this machine."""
    script = PREPARE_CANARY.format(canary=CANARY, own=OWN_ADDRESS, private=" ".join(private), public=public)
    subprocess.run(["sh", "-c", script], check=True)


def packets_to_the_canary() -> int:
    """The number of packets sent to private networks."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == CANARY:
            return int(counters.split()[9])
    raise RuntimeError("there is no canary")
