"""Units of systemd, the container image and the compose file: what can be proven of them without running them."""

import re
import shutil
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from tollhouse.instance.cli.main import app
from tollhouse.platform.settings.config import SETTINGS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
EXPOSURE_MAX = 1.5
"""Of 10, by `systemd-analyze security`. A unit without any restriction has 9.6."""
NO_SYSTEMD = shutil.which("systemd-analyze") is None
PROGRAM = "/opt/tollhouse/.venv/bin/tollhouse"
ENVIRONMENT_FILES = (
    "systemd/tollhouse.env",
    "systemd/owner.env",
    "docker/tollhouse.env.example",
    "docker/owner.env.example",
)
GIVEN_BY_DOCKER = ("172.16.0.0/12", "192.168.0.0/16")
"""What Docker takes the networks from that name no addresses."""
OF_OTHERS = {"POSTGRES_PASSWORD", "TOLLHOUSE_APPLICATION_PASSWORD"}
"""Variables of the database's image and of `roles.sh`."""


@pytest.mark.skipif(NO_SYSTEMD, reason="systemd is not installed: its units are untested")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text()
    assert text.count(PROGRAM) == 1
    copy = tmp_path / unit.name
    copy.write_text(text.replace(PROGRAM, "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if unit.stem.rstrip("@") in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.skipif(NO_SYSTEMD, reason="systemd is not installed: its units are untested")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_unit_is_hardened(unit: Path) -> None:
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = re.search(r"exposure level for .*: ([0-9.]+)", said)
    assert found is not None
    assert float(found[1]) <= EXPOSURE_MAX, said


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_unit_runs_a_command_that_exists(unit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [command] = re.findall(rf"(?m)^ExecStart={PROGRAM} (\w+)", unit.read_text())
    app([command, "--help"], result_action="return_value")
    help_text = capsys.readouterr().out
    assert f"tollhouse {command}" in help_text
    for option in re.findall(r"--[a-z-]+", re.findall(r"(?m)^ExecStart=(.*)$", unit.read_text())[0]):
        assert option in help_text


@pytest.mark.parametrize("file", ENVIRONMENT_FILES)
def test_files_of_settings_name_settings(file: str) -> None:
    names = set(re.findall(r"(?m)^(?:# )?([A-Z_]+)=", (DEPLOY / file).read_text()))
    assert names
    assert names - {setting.name for setting in SETTINGS} - OF_OTHERS == set()


def _compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())
    return loaded


@pytest.mark.parametrize("name", ["web1", "web2", "worker", "migrate"])
def test_containers_of_the_service_can_write_nothing(name: str) -> None:
    service = _compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["tmpfs"]) == {"/tmp", "/data:uid=10001,gid=10001,mode=0750"}  # noqa: S108 - in the container


def test_only_database_and_migration_get_the_owners_password() -> None:
    files = {name: service.get("env_file", []) for name, service in _compose()["services"].items()}
    assert {name for name, named in files.items() if "owner.env" in named} == {"database", "migrate"}


def test_only_the_migration_and_the_supervisor_get_the_owners_password() -> None:
    named = {unit.name for unit in UNITS if "owner.env" in unit.read_text()}
    assert named == {"tollhouse.service", "tollhouse-migrate.service"}
    owner = "TOLLHOUSE_MIGRATION_DATABASE_URL"
    assert owner in (DEPLOY / "systemd" / "owner.env").read_text()
    assert owner not in (DEPLOY / "systemd" / "tollhouse.env").read_text()


def test_web_servers_of_one_machine_have_metrics_on_ports_of_their_own() -> None:
    unit = (DEPLOY / "systemd" / "tollhouse-web@.service").read_text()
    assert re.findall(r"(?m)^ExecStart=.* --port %i --metrics-port 1%i$", unit)


@pytest.mark.parametrize(
    ("command", "has_owner"), [("status", False), ("migrate", True), ("backup", True), ("config", False)]
)
def test_a_command_runs_as_the_service_with_its_settings(tmp_path: Path, command: str, has_owner: bool) -> None:
    (tmp_path / "systemd-run").write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    (tmp_path / "systemd-run").chmod(0o755)
    words = [DEPLOY / "systemd" / "tollhouse", command, "two words"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    said = run.stdout.splitlines()
    assert said[-3:] == [PROGRAM, command, "two words"]
    assert {"User=tollhouse", "EnvironmentFile=/etc/tollhouse/tollhouse.env"} <= set(said)
    assert ("EnvironmentFile=-/etc/tollhouse/owner.env" in said) == has_owner


def test_only_the_proxy_is_published() -> None:
    services = _compose()["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    networks = _compose()["networks"]
    assert networks["inside"] == {"internal": True}
    assert services["database"]["networks"] == {"inside": {}}


def test_the_image_is_built_once() -> None:
    assert [name for name, service in _compose()["services"].items() if "build" in service] == ["migrate"]


def test_no_other_container_gets_the_address_of_the_proxy() -> None:
    services, networks = _compose()["services"], _compose()["networks"]
    [pool] = networks["proxied"]["ipam"]["config"]
    address = ip_address(services["proxy"]["networks"]["proxied"]["ipv4_address"])
    assert address in ip_network(pool["subnet"])
    assert address not in ip_network(pool["ip_range"])
    assert not any(ip_network(pool["subnet"]).overlaps(ip_network(given)) for given in GIVEN_BY_DOCKER)
    assert f"TOLLHOUSE_TRUSTED_PROXIES={address}\n" in (DEPLOY / "docker" / "tollhouse.env.example").read_text()


def test_images_come_from_the_default_registry() -> None:
    images = re.findall(r"(?m)^FROM (\S+)", (DEPLOY / "docker" / "Dockerfile").read_text())
    images += [service["image"] for service in _compose()["services"].values() if "image" in service]
    assert all("/" not in image for image in images), images


def test_the_image_runs_as_an_account_without_rights_and_copies_what_there_is() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert re.findall(r"(?m)^USER (\S+)", text) == ["10001:10001"]
    allowed = set((DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().split())
    for line in re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", text):
        for source in line.split():
            assert (ROOT / source).exists(), source
            assert f"!{source.rstrip('/')}" in allowed, source


def test_the_proxy_of_the_containers_is_the_tested_one() -> None:
    tested = (DEPLOY / "proxies" / "Caddyfile").read_text().splitlines()
    own = (DEPLOY / "docker" / "Caddyfile").read_text().replace("web1:8000 web2:8000", "127.0.0.1:8001 127.0.0.1:8002")
    assert own.splitlines()[1:] == tested[1:]
