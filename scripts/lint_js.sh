#!/bin/sh
# Checks the types of the page's modules with the TypeScript that package-lock.json pins; nothing is built. Needs npm:
# without it one line says so, and with CI=true that is an error.
set -eu
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null; then
    echo "The types of the page's modules are not checked: there is no npm here." >&2
    [ "${CI-}" != "true" ]
    exit
fi
# The stamp is as new as the lock that was installed last.
stamp=node_modules/.installed
if [ ! -e "$stamp" ] || [ package-lock.json -nt "$stamp" ]; then
    npm ci --silent
    touch "$stamp"
fi
exec node_modules/.bin/tsc
