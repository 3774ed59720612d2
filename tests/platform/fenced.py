"""Calls private addresses with our own gate wide open, behind a fence of routes; prints how they ended and what got out.

Run in a network namespace of its own: `unshare --net python -m tests.platform.fenced`.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tests.running import settings_for
from tollhouse.platform.outgoing.outbound import Outbound
from tollhouse.platform.outgoing.targets import BLOCKED

PREPARE = """
    set -e
    ip link set lo up
    ip link add fence type veth peer name world
    for one in fence world; do ip link set "$one" addrgenmode none; ip link set "$one" arp off; ip link set "$one" up; done
    ip addr add 192.0.2.1/32 dev fence
    ip route add default dev fence
    for network in $PROHIBITED; do ip route add prohibit "$network"; done
"""
PRIVATE = ["10.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "100.64.0.1", "198.18.0.1", "224.0.0.1"]
PUBLIC = "93.184.216.34"


def packets() -> int:
    """How many left by the fence."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()
    return next(int(line.partition(":")[2].split()[9]) for line in lines if line.strip().startswith("fence:"))


async def call(*hosts: str) -> list[str | None]:
    """How calls to these hosts end."""
    wide_open = settings_for("postgresql:///nowhere", TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="0.0.0.0/0")
    async with Outbound(wide_open, deadline_s=0.5) as outbound:
        return [(await outbound.post(f"http://{host}:8080/", b"{}", {})).error for host in hosts]


if __name__ == "__main__":
    prohibited = " ".join(str(network) for network in BLOCKED if not network.is_loopback)
    subprocess.run(
        ["sh", "-c", PREPARE], env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PROHIBITED": prohibited}, check=True
    )
    private, got_out = asyncio.run(call(*PRIVATE)), packets()
    public = asyncio.run(call(PUBLIC))
    sys.stdout.write(json.dumps({"private": private, "got_out": got_out, "public": public, "got_out_then": packets()}))
