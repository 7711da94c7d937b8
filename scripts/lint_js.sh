#!/bin/sh
# Checks the page's modules with what package-lock.json pins: their types, ESLint's rules, and Prettier's form. Needs npm:
# without it one line says so, and with CI=true that is an error.
set -eu
cd "$(dirname "$0")/.."

set -- "The page's modules are not checked"
. scripts/node_modules.sh
node_modules/.bin/tsc
node_modules/.bin/eslint static/chat tests/page scripts
node_modules/.bin/prettier --check --log-level warn static/chat tests/page scripts
