"""`tollhouse doctor`: what is wrong with this installation, and what to do. Exits 1 if something has failed."""

import asyncio
import os
from pathlib import Path

import msgspec

from tollhouse.instance.cli.options import Json
from tollhouse.instance.doctor.examine import examine


def examine_installation(*, as_json: Json = False) -> int:
    """Check settings, base URL, files, database, worker, mail and bank. Changes nothing. Exits 1 after a failure."""
    findings = asyncio.run(examine(os.environ, Path()))
    is_healthy = all(finding.status != "failure" for finding in findings)
    if as_json:
        print(msgspec.json.encode({"healthy": is_healthy, "findings": findings}).decode())
        return 0 if is_healthy else 1
    for finding in findings:
        print(f"{finding.status:<8} {finding.check:<14} {finding.message}")
        if finding.advice:
            print(f"{'':<24}{finding.advice}")
    return 0 if is_healthy else 1
