"""Ask for known weaknesses of every pinned package: `make audit`.

pip-audit and npm call a package clean that their database doesn't know: behind a mirror without
advisories everything is. So each is first asked about an old release whose weakness every database
has. Where that isn't found, no database answered: the script says so and judges nothing. It ends
with 1 where a package of ours has a known weakness. Further arguments go to pip-audit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# CVE-2019-10906 and CVE-2020-7598: old enough for every database.
KNOWN_WEAK_PYTHON = "jinja2==2.10"
KNOWN_WEAK_NPM = {"minimist": "0.0.8"}
SECONDS = 600.0


def main(options: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        python = weak_python_packages(Path(folder), options)
        npm = weak_npm_packages(Path(folder))
    for name, found in (("pip-audit", python), ("npm audit", npm)):
        if found is None:
            print(f"{name}: no advisory database answers here, so nothing was judged.")
        else:
            print(f"{name}: {len(found)} packages with a known weakness.")
            for package in found:
                print(f"  {package}")
    return 1 if python or npm else 0


def weak_python_packages(folder: Path, options: Sequence[str]) -> list[str] | None:
    """Those of all locks; None where no database answers."""
    (folder / "known.txt").write_text(KNOWN_WEAK_PYTHON)
    if not _pip_audit([folder / "known.txt"], ["--no-deps", *options]):
        return None
    found = _pip_audit(sorted(ROOT.glob("requirements*.txt")), options)
    return _answered(found, "pip-audit")


def _pip_audit(files: Iterable[Path], options: Sequence[str]) -> list[str] | None:
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--format", "json"]
    command += [part for file in files for part in ("--requirement", str(file))]
    answer = _json_of([*command, *options], ROOT)
    if "dependencies" not in answer:
        return None
    return [
        f"{one['name']} {one['version']}: {', '.join(sorted({v['id'] for v in one['vulns']}))}"
        for one in answer["dependencies"]
        if one.get("vulns")
    ]


def weak_npm_packages(folder: Path) -> list[str] | None:
    """Those of the page's libraries and of what builds and checks the page."""
    if not _npm_audit(folder / "known", KNOWN_WEAK_NPM):
        return None
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    locked = {
        path.rpartition("node_modules/")[2]: one["version"] for path, one in lock.items() if path
    }
    vendored = json.loads((ROOT / "static/vendor/vendor.json").read_text())
    versions = locked | {one["name"]: one["version"] for one in vendored}
    return _answered(_npm_audit(folder / "ours", versions), "npm audit")


def _npm_audit(folder: Path, versions: Mapping[str, str]) -> list[str] | None:
    """npm sends names and versions of a lock, and needs no packages for it."""
    whole = {"name": "audited", "version": "1.0.0", "dependencies": dict(versions)}
    packages = {f"node_modules/{name}": {"version": version} for name, version in versions.items()}
    lock = whole | {"lockfileVersion": 3, "packages": {"": whole} | packages}
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps(whole))
    (folder / "package-lock.json").write_text(json.dumps(lock))
    answer = _json_of(["npm", "audit", "--json"], folder)
    if "vulnerabilities" not in answer:
        return None
    return [f"{name}: {one['severity']}" for name, one in sorted(answer["vulnerabilities"].items())]


def _answered(found: list[str] | None, tool: str) -> list[str]:
    if found is None:
        sys.exit(f"{tool}: an advisory database answers, but not for what is pinned here.")
    return found


def _json_of(command: Sequence[str], folder: Path) -> Mapping[str, Any]:
    """What the command prints; empty where it can't run or prints something else."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
