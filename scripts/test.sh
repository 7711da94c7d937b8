#!/bin/sh
# Runs the page's own unit tests, then the suite in four steps: the tests that need no browser, on three processes on two
# cores, since they wait for a third of their time; storage, turns and channels once more, on PostgreSQL; those with a
# browser, on two, a file's tests together since they share a server; then the real engine, alone: beside anything else
# on two cores its threads wait for each other and it takes three times as long. Each step collects the folders that
# hold its tests, since collecting takes seconds. With CI=true no test may be skipped.
#
# A test that fails beside others runs once more, alone. One that passes then depends on the machine's load: the run
# names it and goes on, since it says nothing about the change; a test that fails again ends its step.
#
# `test.sh quick` runs the part that a change meets first: no browser, no engine, no server, a thirtieth of the examples.
# `test.sh all` takes in what a usual run leaves out, in the same steps: what kills and floods servers, and more
# examples. Steps of their own would collect the suite again, and try each property a second time.
#
# `test.sh plain` is for a clone without the engine and the vectors: it loads every module of tests, which finds imports
# that need them, and runs the quick tests of the places that look for them. Of 6,700 quick tests 93 do, each of them
# here; the others have the same outcome either way. That takes a fifth of the CPU of all quick tests.
set -eu
cd "$(dirname "$0")/.."
py=${PY:-.venv/bin/python}
engine="engine"

# Where this is set, each of the hundred processes that tests start compiles the whole application for itself.
unset PYTHONDONTWRITEBYTECODE

strict=""
[ "${CI-}" != "true" ] || strict="-p tests.no_skips"

# What runs a step: pytest, or a PostgreSQL of its own with pytest on it.
run=pytest

# Run one step; the last argument says which tests.
step() {
    result=0
    # shellcheck disable=SC2086
    "$py" -m $run $strict "$@" || result=$?
    [ "$result" -eq 1 ] || return "$result" # 1: tests failed; anything else is no matter of single tests
    while [ "$#" -gt 1 ]; do shift; done
    echo "What failed runs once more, alone. Tests that pass now depend on the machine's load: they want mending." >&2
    # shellcheck disable=SC2086
    "$py" -m $run $strict -v -x --last-failed --last-failed-no-failures none -m "$1"
}

quick="not browser and not engine and not slow and not thorough"
if [ "${1-}" = "plain" ]; then
    HYPOTHESIS_PROFILE=quick exec "$py" -m pytest -m "$quick" \
        -k "providers or kv_cache or test_recalling or test_checks or test_wiring"
fi

status=0
sh scripts/test_js.sh || status=$?
if [ "${1-}" = "quick" ]; then
    # Three on two cores: a third of the time is waiting.
    HYPOTHESIS_PROFILE=quick "$py" -m pytest -n 3 --dist worksteal --ignore=tests/browser --ignore=tests/story \
        -m "$quick" || status=$?
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

cluster=""
missing=$(sh scripts/debian.sh --missing)
if [ -n "$missing" ]; then
    echo "The tests of several servers need PostgreSQL and nginx. Debian: apt install $missing" >&2
    [ "${CI-}" != "true" ] || exit 1
    echo "They are left out of this run." >&2
    cluster="--ignore=tests/cluster"
fi

rest=" and not thorough"
if [ "${1-}" = "all" ]; then
    rest=""
    export HYPOTHESIS_PROFILE=full
fi
# shellcheck disable=SC2086
step -n 3 --dist worksteal --ignore=tests/browser $cluster -m "not browser and not engine$rest" || status=$?
if [ -z "$cluster" ]; then
    run="tests.postgres pytest"
    HYPOTHESIS_PROFILE=normal step -n 3 --dist worksteal tests/conversations tests/turns tests/limits tests/channels \
        -m "not sqlite and not thorough" || status=$?
    run=pytest
fi
[ ! -x "$CHROMIUM" ] || step -n 2 --dist loadfile tests/browser -m "not engine$rest" || status=$?
step tests/browser tests/providers tests/story -m "$engine" || status=$?
exit "$status"
