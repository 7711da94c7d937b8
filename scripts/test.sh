#!/bin/sh
# Runs the page's own unit tests, then the whole suite in three steps: the tests that only compute, then those with a
# browser, on two processes each, neighbours together so that a file's tests share a server; then the real engine,
# alone: beside anything else on two cores its threads wait for each other and it takes three times as long. With
# CI=true no test may be skipped.
#
# `test.sh quick` runs the part that a change meets first: no browser, no engine, no server, a tenth of the examples.
set -eu
cd "$(dirname "$0")/.."
py=${PY:-.venv/bin/python}
engine="engine"

# Where this is set, each of the hundred processes that tests start compiles the whole application for itself.
unset PYTHONDONTWRITEBYTECODE

status=0
sh scripts/test_js.sh || status=$?

if [ "${1-}" = "quick" ]; then
    # Both folders hold nothing for this run: passing over them saves the time to collect them.
    HYPOTHESIS_PROFILE=quick "$py" -m pytest -n 2 --ignore=tests/browser --ignore=tests/story \
        -m "not browser and not engine and not slow" || status=$?
    exit "$status"
fi

if [ ! -x "$CHROMIUM" ]; then
    echo "The browser tests need Chromium at $CHROMIUM, and it isn't there." >&2
    echo "Debian: apt install chromium. Elsewhere: make test CHROMIUM=/path/to/chromium" >&2
    [ "${CI-}" != "true" ] || exit 1
    echo "They are left out of this run." >&2
    engine="engine and not browser"
fi
export CHROMIUM

strict=""
[ "${CI-}" != "true" ] || strict="-p tests.no_skips"

# shellcheck disable=SC2086
"$py" -m pytest $strict -n 2 --dist worksteal -m "not browser and not engine" || status=$?
# shellcheck disable=SC2086
[ ! -x "$CHROMIUM" ] || "$py" -m pytest $strict -n 2 --dist loadfile -m "browser and not engine" || status=$?
# shellcheck disable=SC2086
"$py" -m pytest $strict -m "$engine" || status=$?
exit "$status"
