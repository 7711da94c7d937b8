#!/bin/sh
# Runs the whole suite in two steps: what only computes, on two processes; then, on three since pages wait a lot, the
# browser, a file at a time so that its tests share a server, beside the real engine (tests/conftest.py). With CI=true
# nothing may be skipped.
set -eu
cd "$(dirname "$0")/.."
py=${PY:-.venv/bin/python}
heavy="browser or engine"

if [ ! -x "$CHROMIUM" ]; then
    echo "The browser tests need Chromium at $CHROMIUM, and it isn't there." >&2
    echo "Debian: apt install chromium. Elsewhere: make test CHROMIUM=/path/to/chromium" >&2
    [ "${CI-}" != "true" ] || exit 1
    echo "They are left out of this run." >&2
    heavy="engine and not browser"
fi
export CHROMIUM

strict=""
[ "${CI-}" != "true" ] || strict="-p tests.no_skips"

status=0
# shellcheck disable=SC2086
"$py" -m pytest $strict -n 2 -m "not browser and not engine" || status=$?
# shellcheck disable=SC2086
"$py" -m pytest $strict -n 3 --dist loadgroup -m "$heavy" || status=$?
exit "$status"
