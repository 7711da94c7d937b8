"""The front-end libraries in static/vendor/ match their list and need nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.storage import FileSystemStorage

VENDOR = Path(__file__).resolve().parent.parent / "static" / "vendor"
ENTRIES: list[dict[str, str]] = json.loads((VENDOR / "vendor.json").read_text())
# KaTeX's modules are twice as long as its script, which makes a global name of itself. Mermaid's
# are several hundred files.
SCRIPTS = {"katex/katex.min.js", "mermaid/mermaid.min.js"}
MODULES = [
    entry["file"]
    for entry in ENTRIES
    if entry["file"].endswith(("js", "mjs")) and entry["file"] not in SCRIPTS
]


class ModuleStorage(ManifestStaticFilesStorage):
    """The manifest storage with support for modules: it rewrites their imports too."""

    support_js_module_import_aggregation = True


def test_every_file_has_the_hash_that_the_list_gives() -> None:
    actual = {e["file"]: hashlib.sha256((VENDOR / e["file"]).read_bytes()) for e in ENTRIES}
    assert {name: digest.hexdigest() for name, digest in actual.items()} == {
        e["file"]: e["sha256"] for e in ENTRIES
    }


def test_no_file_is_missing_from_the_list() -> None:
    present = {path.relative_to(VENDOR).as_posix() for path in VENDOR.rglob("*") if path.is_file()}
    assert present - {"vendor.json"} == {entry["file"] for entry in ENTRIES}


def test_every_entry_names_the_library_and_its_origin() -> None:
    for entry in ENTRIES:
        assert set(entry) == {"file", "name", "version", "sha256", "licence", "origin"}
        assert all(entry.values())
        assert entry["origin"].startswith(f"{entry['name']}@{entry['version']}, ")
        assert "://" not in entry["origin"]


def test_every_library_has_a_licence_text_beside_it() -> None:
    for folder in {entry["file"].split("/")[0] for entry in ENTRIES}:
        assert (VENDOR / folder / "LICENSE").stat().st_size > 1_000


def test_no_module_imports_another() -> None:
    imports = re.compile(
        r"""(?:^|[;}\n])\s*(?:import|export)\b[^;"'()]*\bfrom\s*["']|^\s*import["']"""
    )
    for name in MODULES:
        assert not imports.search((VENDOR / name).read_text()), name


def test_every_module_exports_something() -> None:
    for name in MODULES:
        assert re.search(r"\bexport\s*(?:default\b|\{)", (VENDOR / name).read_text()), name


def test_every_source_map_that_a_file_refers_to_is_there() -> None:
    for name in MODULES:
        for target in re.findall(r"sourceMappingURL=(\S+)", (VENDOR / name).read_text()):
            assert (VENDOR / name).with_name(target).is_file(), f"{name} refers to {target}"


def test_the_manifest_storage_processes_every_file(tmp_path: Path) -> None:
    shutil.copytree(VENDOR, tmp_path / "vendor")
    source = FileSystemStorage(location=VENDOR.parent)
    paths = {f"vendor/{entry['file']}": (source, f"vendor/{entry['file']}") for entry in ENTRIES}
    storage = ModuleStorage(location=str(tmp_path), base_url="/static/")
    outcomes = {name: outcome for name, _, outcome in storage.post_process(paths)}
    assert set(outcomes) == set(paths)
    assert [outcome for outcome in outcomes.values() if isinstance(outcome, Exception)] == []


@pytest.mark.parametrize("language", ["python", "javascript", "bash", "json", "sql", "html"])
def test_common_languages_can_be_highlighted(language: str) -> None:
    module = {"html": "xml"}.get(language, language)
    assert f"highlightjs/languages/{module}.min.js" in MODULES
