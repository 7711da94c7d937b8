#!/bin/sh
# Runs the whole suite in two steps, each on two processes: what only computes, then the browser, a file at a time, so
# that pages share their server, beside the real engine (tests/conftest.py). With CI=true nothing may be skipped.
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
"$py" -m pytest $strict -n 2 --dist loadgroup -m "$heavy" || status=$?
exit "$status"
