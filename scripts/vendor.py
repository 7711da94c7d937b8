"""Fetch the front-end files of `static/vendor/` and write their list, `vendor.json`.

Needs `npm` (only to fetch, nothing is built) and runs by hand, with `make vendor`, when a version
below changes. The application itself never needs npm: what this fetches is kept in the repository.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "static" / "vendor"

# Highlighted on demand, one module a language; what is missing here is shown as plain text.
LANGUAGES = (
    "bash c cpp csharp css diff dockerfile go graphql http ini java javascript json kotlin lua "
    "makefile markdown nginx perl php plaintext powershell python r ruby rust scss shell sql swift "
    "typescript xml yaml"
).split()


# The faces of KaTeX; every browser of today reads woff2, so its CSS is cut to that.
KATEX_FONTS = (
    "AMS-Regular Caligraphic-Bold Caligraphic-Regular Fraktur-Bold Fraktur-Regular Main-Bold "
    "Main-BoldItalic Main-Italic Main-Regular Math-BoldItalic Math-Italic SansSerif-Bold "
    "SansSerif-Italic SansSerif-Regular Script-Regular Size1-Regular Size2-Regular Size3-Regular "
    "Size4-Regular Typewriter-Regular"
).split()
OTHER_FONTS = re.compile(r',url\(fonts/[^)]+\.(?:woff|ttf)\) format\("[a-z]+"\)')


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package of the npm registry and, of its files, those that are kept: source -> target."""

    name: str
    version: str
    licence: str
    folder: str
    files: Mapping[str, str] = field(default_factory=dict)


PACKAGES = (
    Package(
        name="marked",
        version="18.2.1",
        licence="MIT",
        folder="marked",
        files={
            "lib/marked.esm.js": "marked.esm.js",
            "lib/marked.esm.js.map": "marked.esm.js.map",
            "lib/marked.d.ts": "marked.esm.d.ts",  # for the type checker alone
            "LICENSE": "LICENSE",
        },
    ),
    Package(
        name="dompurify",
        version="3.4.18",
        licence="MPL-2.0 OR Apache-2.0",
        folder="dompurify",
        files={
            "dist/purify.es.mjs": "purify.es.mjs",
            "dist/purify.es.mjs.map": "purify.es.mjs.map",
            "dist/purify.es.d.mts": "purify.es.d.mts",
            "LICENSE": "LICENSE",
            "LICENSE-MPL": "LICENSE-MPL",
        },
    ),
    Package(
        name="@highlightjs/cdn-assets",
        version="11.12.0",
        licence="BSD-3-Clause",
        folder="highlightjs",
        files={
            "es/core.min.js": "core.min.js",
            **{f"es/languages/{name}.min.js": f"languages/{name}.min.js" for name in LANGUAGES},
            "LICENSE": "LICENSE",
        },
    ),
    Package(
        name="katex",
        version="0.19.1",
        licence="MIT",
        folder="katex",
        files={
            "dist/katex.min.js": "katex.min.js",
            "dist/katex.min.css": "katex.min.css",
            **{
                f"dist/fonts/KaTeX_{name}.woff2": f"fonts/KaTeX_{name}.woff2"
                for name in KATEX_FONTS
            },
            "LICENSE": "LICENSE",
        },
    ),
    # One file with every kind of diagram, loaded only where somebody wants one drawn.
    Package(
        name="mermaid",
        version="12.3.0",
        licence="MIT",
        folder="mermaid",
        files={"dist/mermaid.min.js": "mermaid.min.js", "LICENSE": "LICENSE"},
    ),
)


def unpack(package: Package, *, scratch: Path) -> Path:
    """Fetch a package into `scratch` and return the folder its files were unpacked to."""
    packed = subprocess.run(
        ["npm", "pack", "--json", f"{package.name}@{package.version}"],
        cwd=scratch,
        check=True,
        capture_output=True,
        text=True,
    )
    target = scratch / package.folder
    shutil.unpack_archive(scratch / json.loads(packed.stdout)[0]["filename"], target, filter="data")
    return target / "package"


def place(package: Package, *, source: Path) -> Iterator[dict[str, str]]:
    """Copy a package's kept files below `VENDOR`; yields one line of the list for each."""
    for origin, target in package.files.items():
        path = VENDOR / package.folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / origin, path)
        if path.name == "katex.min.css":
            path.write_text(OTHER_FONTS.sub("", path.read_text()))
        yield {
            "file": path.relative_to(VENDOR).as_posix(),
            "name": package.name,
            "version": package.version,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "licence": package.licence,
            "origin": f"{package.name}@{package.version}, {origin}",
        }


def main() -> None:
    """Replace `static/vendor/` by what the packages above hold."""
    entries: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        sources = [unpack(package, scratch=Path(scratch)) for package in PACKAGES]
        shutil.rmtree(VENDOR, ignore_errors=True)
        for package, source in zip(PACKAGES, sources, strict=True):
            entries += place(package, source=source)
    entries.sort(key=lambda entry: entry["file"])
    (VENDOR / "vendor.json").write_text(json.dumps(entries, indent=2) + "\n")
    print(f"{len(entries)} files in static/vendor/")


if __name__ == "__main__":
    main()
