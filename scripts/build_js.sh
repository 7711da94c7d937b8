#!/bin/sh
# Bundles the page's modules and styles into static/built/ with the esbuild that package-lock.json pins. Needs npm.
set -eu
cd "$(dirname "$0")/.."

set -- "The page's files are not built"
. scripts/node_modules.sh
exec node scripts/build.mjs
