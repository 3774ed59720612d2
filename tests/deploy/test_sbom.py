"""The software bill of materials has every package of the lock file."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"(?m)^([A-Za-z0-9._-]+)==([^ ;\\]+)")


def test_every_locked_package_is_listed_with_its_version_and_hashes() -> None:
    made = subprocess.run([ROOT / "scripts" / "sbom"], capture_output=True, check=True, text=True).stdout
    listed = json.loads(made)
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", "tollhouse")
    packages = {(component["name"], component["version"]) for component in listed["components"]}
    assert packages == set(PINNED.findall((ROOT / "locks" / "run.txt").read_text()))
    assert all(component["purl"].startswith("pkg:pypi/") for component in listed["components"])
    assert all(reference["hashes"] for component in listed["components"] for reference in component["externalReferences"])
