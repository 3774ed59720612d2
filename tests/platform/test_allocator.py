"""Memory of hashed passwords goes back to the system."""

import subprocess
import sys

import pytest

PROGRAM = """
import threading
from pathlib import Path

from tollhouse.platform import machine
from tollhouse.platform.passwords import HASHER

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

machine.return_large_blocks()
before = resident_bytes()
for _ in range(3):
    thread = threading.Thread(target=HASHER.hash, args=("correct horse battery",))
    thread.start()
    thread.join()
print((resident_bytes() - before) // 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and other systems have other allocators")
def test_hashing_keeps_no_memory() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 10  # one hash takes 19
