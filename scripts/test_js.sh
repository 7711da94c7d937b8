#!/bin/sh
# Runs the unit tests of the page's pure modules with node's own test runner, in a second. Without node one line says
# so, and with CI=true that is an error.
set -eu
cd "$(dirname "$0")/.."

if ! command -v node >/dev/null; then
    echo "The unit tests of the page's modules are left out: there is no node here." >&2
    [ "${CI-}" != "true" ]
    exit
fi
# Dots show no details, so after a failure the tests run again with a full report.
node --test --test-reporter=dot tests/page/*.test.js || exec node --test --test-reporter=spec tests/page/*.test.js
