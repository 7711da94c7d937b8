#!/bin/sh
# Checks the types of the page's modules with the TypeScript that package-lock.json pins. Needs npm: without it one line
# says so, and with CI=true that is an error.
set -eu
cd "$(dirname "$0")/.."

set -- "The types of the page's modules are not checked"
. scripts/node_modules.sh
exec node_modules/.bin/tsc
