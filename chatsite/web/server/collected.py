"""Static files are collected when they have changed: it takes seconds, at every start."""

from __future__ import annotations

import hashlib

import django
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def collect_if_changed() -> None:
    """Bring STATIC_ROOT up to date; a stamp beside it says what it was made from."""
    stamp = settings.VAR_DIR / "static.stamp"
    wanted = signature()
    if stamp.is_file() and stamp.read_text() == wanted and settings.STATIC_ROOT.is_dir():
        return
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(wanted)


def signature() -> str:
    """Names, sizes and times of everything that would be collected."""
    seen = [django.get_version()]
    for finder in get_finders():
        for path, storage in finder.list(None):
            changed = storage.get_modified_time(path).timestamp()
            seen.append(f"{path} {storage.size(path)} {changed}")
    return hashlib.sha256("\n".join(sorted(seen)).encode()).hexdigest()
