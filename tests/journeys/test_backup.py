"""The drill: a backup beside the running service, everything destroyed, restored elsewhere, and all of it is there."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cast import sign_up
from tests.command import tollhouse
from tests.journeys.test_get_paid import COFFEE, activate_secret, pay
from tests.journeys.test_serve import check, talking_to
from tests.payments import shop
from tests.processes import Serving
from tests.receiver import Receiver
from tests.running import KEY, Service, new_database
from tests.webhooks.endpoints.test_configuration import signed_with
from tollhouse.instance.backup import archive as backup
from tollhouse.instance.database import embedded

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.long]


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home that only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-home-") as folder:
        yield Path(folder)


@pytest.fixture
def service_alone(make_service: Callable[..., Service]) -> Service:
    """A service with a database that no other test changes behind its back: the check of a restored one would tell."""
    return make_service(fresh=True)


def command(data_dir: Path, *words: str, **environment: str) -> tuple[int, str, str]:
    """`tollhouse` on this data folder: exit status, output, talk."""
    outside = {name: text for name, text in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    done = subprocess.run(
        [sys.executable, "-m", "tollhouse", *words],
        env=outside | {"TOLLHOUSE_DATA_DIR": str(data_dir)} | environment,
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, " ".join(done.stderr.split())


async def test_everything_is_there_after_it_was_destroyed(home: Path) -> None:
    first = home / "first"
    first.mkdir()
    serving = await Serving(first).start()
    file = home / "backup.tar"
    try:
        async with sign_up(talking_to(serving), "alice", "Alice's Coffee", keep_alive=False) as alice:
            secret = await activate_secret(alice)
            link = (await alice.post("/payment-links", COFFEE)).ok(201).body
            await pay(alice, link)
            status, _, talk = command(first, "backup", str(file))
            assert status == 0, talk
            assert file.stat().st_mode & 0o077 == 0
            status, _, talk = command(first, "backup", "verify", str(file))
            assert (status, "can be restored" in talk) == (0, True), talk
            serving.kill()
            shutil.rmtree(first)

            second = home / "second"
            status, lines, talk = command(second, "restore", str(file))
            assert (status, lines) == (0, ""), talk
            assert "All invariants hold." in talk
            again = Serving(second)
            again.port, again.url = serving.port, serving.url
            serving = await again.start()
            assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["status"] == "completed"
            async with Receiver() as receiver:
                link = (await alice.post("/payment-links", COFFEE | {"webhook_url": receiver.url})).ok(201).body
                await pay(alice, link)
                await receiver.wait("payment.succeeded")
                assert signed_with(secret, receiver.of_type("payment.succeeded")[0])
            assert check(serving)[0] == 0
            status, _, talk = command(second, "restore", str(file))
            assert status == 1
            assert "is not empty" in talk
    finally:
        assert serving.stop() == []


async def test_a_database_of_ones_own_is_restored_into_an_empty_one(
    service_alone: Service, server: embedded.Server, tmp_path: Path
) -> None:
    service = service_alone
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        await shop.pay(await shop.open_link(alice))
    written = await tollhouse(service, "backup", str(tmp_path))
    assert written.status == 0, written.talk
    file = Path(written.out.strip())
    assert file.parent == tmp_path
    assert (await tollhouse(service, "backup", str(file))).status == 1
    full = await tollhouse(service, "restore", str(file))
    assert full.status == 1
    assert "not empty" in full.talk
    empty = await new_database(server.cluster.dsn)
    stranger = "test:" + "A" * 43
    wrong = await tollhouse(service, "restore", str(file), DATABASE_URL=empty, TOLLHOUSE_SECRET_KEYS=stranger)
    assert wrong.status == 1
    assert "does not have the backup's key test" in wrong.talk
    done = await tollhouse(service, "restore", str(file), DATABASE_URL=empty, TOLLHOUSE_SECRET_KEYS=KEY)
    assert "Restored." in done.talk, done.talk


async def test_an_encrypted_backup_needs_its_identity_and_its_keys(
    service_alone: Service, server: embedded.Server, tmp_path: Path
) -> None:
    service, own, other = service_alone, str(tmp_path / "own"), str(tmp_path / "other")
    recipient = (await tollhouse(service, "backup", "identity", own)).out.strip()
    await tollhouse(service, "backup", "identity", other)
    ring = tmp_path / "ring"
    written = await tollhouse(service, "backup", str(tmp_path), "--encrypt-to", recipient, "--keys", str(ring))
    assert written.status == 0, written.talk
    file = written.out.strip()
    assert file.endswith(".tar.age")
    assert KEY.encode() not in ring.read_bytes()
    empty = await new_database(server.cluster.dsn)
    for words, says in (
        ((), "is encrypted. Name the file of your age identity"),
        (("--identity", other), "could not be decrypted"),
    ):
        refused = await tollhouse(service, "restore", file, *words, DATABASE_URL=empty)
        assert (refused.status, says in refused.talk) == (1, True), refused.talk
    assert backup.read_keys(ring, Path(own)) == KEY
    done = await tollhouse(service, "restore", file, "--identity", own, "--keys", str(ring), DATABASE_URL=empty)
    assert "Restored. All invariants hold. Payouts are paused." in done.talk, done.talk


@pytest.mark.parametrize("damage", ["cut", "changed", "newer", "format"])
async def test_what_is_no_whole_backup_is_refused(
    service: Service, server: embedded.Server, tmp_path: Path, damage: str
) -> None:
    dump = tmp_path / "dump"
    dump.write_bytes(b"PGDMP")
    manifest = backup.Manifest(
        created_at=backup.Timestamp("2026-01-01T00:00:00.000Z"), program="9", migration=1, check_values={}
    )
    if damage == "newer":
        manifest = msgspec.structs.replace(manifest, migration=9999)
    if damage == "format":
        manifest = msgspec.structs.replace(manifest, format=2)
    sums = {backup.DUMP: "0" * 64 if damage == "changed" else backup.sha256(dump)}
    (tmp_path / "manifest").write_bytes(msgspec.json.encode(msgspec.structs.replace(manifest, sha256=sums)))
    file = tmp_path / "backup.tar"
    with tarfile.open(file, "w") as tar:
        tar.add(tmp_path / "manifest", arcname=backup.MANIFEST)
        tar.add(dump, arcname=backup.DUMP)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:600])
    outcome = await tollhouse(service, "restore", str(file), DATABASE_URL=await new_database(server.cluster.dsn))
    assert outcome.status == 1
    assert {"cut": "complete", "changed": "damaged", "newer": "newer", "format": "newer"}[damage] in outcome.talk
