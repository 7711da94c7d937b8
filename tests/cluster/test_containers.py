"""compose.yaml, the Containerfile and nginx's configuration agree with each other and with the
program. Images can't be built here: what the image starts is run from a copy of its files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatsite.web.management.commands.serve import DRAIN_SECONDS
from chatsite.wiring.site import DRAIN_SECONDS_IN_A_CLUSTER
from tests.cluster.conftest import SECRET
from tests.nginx import CONFIGURATION
from tests.postgres import NAME, Postgres
from tests.running import ROOT, free_port
from tests.settings import EXAMPLE

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SERVERS = {name: one for name, one in SERVICES.items() if name.startswith("chatsite-")}
LINES = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()


def instructions(name: str) -> list[str]:
    """The arguments of each such line of the Containerfile."""
    return [line.removeprefix(f"{name} ") for line in LINES if line.startswith(f"{name} ")]


def copied() -> list[tuple[str, str]]:
    """From where in the repository to where in the image."""
    own = [line.split() for line in instructions("COPY") if not line.startswith("--from")]
    return [(source, target) for *sources, target in own for source in sources]


def in_git(*paths: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, check=True)
    return listed.stdout.decode().split()


def address_of(service: dict[str, Any]) -> str:
    return str(service["networks"]["inside"]["ipv4_address"])


class TestCompose:
    def test_servers_differ_in_their_names_alone(self) -> None:
        alike = set()
        for number, (name, server) in enumerate(SERVERS.items(), start=1):
            assert name == f"chatsite-{number}"
            alike.add(re.sub(rf"(chatsite|data)-{number}|41\.1{number}", "", yaml.dump(server)))
        assert len(SERVERS) == 3 and len(alike) == 1

    def test_the_program_reads_what_is_set(self) -> None:
        known = set(re.findall(r"^# ([A-Z_]+)=", EXAMPLE.read_text(), flags=re.MULTILINE))
        for server in SERVERS.values():
            assert set(server["environment"]) <= known

    def test_nginx_knows_the_servers_and_they_trust_it(self) -> None:
        proxy = SERVICES["nginx"]
        addresses = {
            name: one["networks"]["inside"]["ipv4_address"] for name, one in SERVERS.items()
        }
        assert proxy["extra_hosts"] == [f"{name}={address}" for name, address in addresses.items()]
        asked = re.findall(r"^ +server (\S+):(\d+) ", CONFIGURATION.read_text(), re.MULTILINE)
        assert [name for name, _ in asked] == list(SERVERS)
        for (_, port), server in zip(asked, SERVERS.values(), strict=True):
            assert server["environment"]["PORT"] == port
            assert server["environment"]["TRUSTED_PROXIES"] == address_of(proxy)
        assert f"./{CONFIGURATION.relative_to(ROOT)}:/etc/nginx/nginx.conf:ro" in proxy["volumes"]
        assert f" listen {proxy['ports'][0].split(':')[-1]};" in CONFIGURATION.read_text()

    def test_nothing_is_written_outside_of_volumes_and_nobody_is_root(self) -> None:
        for name, service in SERVICES.items():
            assert service["read_only"] and service["cap_drop"] == ["ALL"], name
            assert service.get("user", "10001" if name in SERVERS else "root") != "root", name
        assert instructions("USER") == ["10001"]
        for server in SERVERS.values():
            mounted = {volume.split(":")[1] for volume in server["volumes"]}
            assert {server["environment"][name] for name in ("VAR_DIR", "FILES_DIR")} <= mounted

    def test_running_answers_may_end(self) -> None:
        for server in SERVERS.values():
            seconds = float(server["stop_grace_period"].removesuffix("s"))
            assert seconds > DRAIN_SECONDS + DRAIN_SECONDS_IN_A_CLUSTER


class TestContainerfile:
    def test_what_is_copied_is_in_git_and_nothing_else_reaches_the_builder(self) -> None:
        sources = [source for source, _ in copied()]
        assert all(in_git(source) for source in sources)
        rules = (ROOT / ".dockerignore").read_text().splitlines()
        assert [rule for rule in rules if rule and not rule.startswith("#")] == [
            "*",
            *(f"!{source}" for source in sources),
            "**/__pycache__",
        ]

    def test_packages_come_from_the_locks_alone(self) -> None:
        (install,) = [line for line in instructions("RUN") if "pip install" in line]
        assert "--require-hashes" in install and "--only-binary=:all:" in install
        locks = re.findall(r"-r /(\S+)", install)
        assert locks == [source for source, target in copied() if target == "/"]

    def test_it_is_a_python_that_the_program_supports(self) -> None:
        (image,) = {line.split()[0] for line in instructions("FROM")}
        version = re.fullmatch(r"docker.io/library/python:(3\.\d+)-slim", image)
        assert version is not None
        supported = f"Programming Language :: Python :: {version[1]}"
        assert supported in (ROOT / "pyproject.toml").read_text()


@pytest.mark.slow
def test_what_the_image_starts_serves_from_files_that_it_cant_change(
    tmp_path: Path, postgres: Postgres
) -> None:
    image = tmp_path / "chatsite"
    for file in in_git(*(source for source, target in copied() if target != "/")):
        (image / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, image / file)
    before = sorted(image.rglob("*"))
    for path in [*before, image]:
        path.chmod(path.stat().st_mode & ~0o222)
    port = free_port()
    server = subprocess.Popen(
        [*without_rights(), *command(instructions("CMD")[0])],
        cwd=image,
        env=environment(tmp_path, port, postgres.new_database("contained", template=NAME)),
        start_new_session=True,
    )
    try:
        check = str(SERVICES["chatsite-1"]["healthcheck"]["test"][1:]).replace("8000", str(port))
        deadline = time.monotonic() + 60
        while subprocess.run(command(check), capture_output=True).returncode:
            assert server.poll() is None and time.monotonic() < deadline
    finally:
        server.terminate()
        server.wait(60)
    assert server.returncode in (0, -signal.SIGTERM)
    assert sorted(image.rglob("*")) == before


def command(words: str) -> list[str]:
    """An image's command, with this Python in place of the image's."""
    program, *arguments = yaml.safe_load(words)
    assert program == "python"
    return [sys.executable, *arguments]


def without_rights() -> list[str]:
    """Root may write where nobody may, unless it gives that up as the service does (cap_drop)."""
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def environment(folder: Path, port: int, database: str) -> dict[str, str]:
    """That of the image and of the first service, with addresses and folders of this machine."""
    pairs = [pair.split("=", 1) for line in instructions("ENV") for pair in shlex.split(line)]
    found: dict[str, str] = dict(pairs) | SERVICES["chatsite-1"]["environment"]
    here = {
        "PATH": os.environ["PATH"],
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "DATABASE_URL": database,
        "SECRET_KEY": SECRET,
        "ALLOWED_HOSTS": found["ALLOWED_HOSTS"].replace("${ALLOWED_HOSTS:-localhost}", "a.example"),
        "CLUSTER_ADDRESS": "",
        "VAR_DIR": str(folder / "data"),
        "FILES_DIR": str(folder / "files"),
    }
    return found | here
