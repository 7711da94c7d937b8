#!/bin/sh
# Installs from Debian what several servers on one machine need, PostgreSQL and nginx, where it is missing. Only root may
# do that; everybody else reads the command. `debian.sh --missing` prints the packages and installs nothing.
set -eu
missing=""
# Debian keeps both off the path of users.
[ -n "${POSTGRES-$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null || command -v initdb)}" ] || missing="postgresql"
[ -n "${NGINX-$(command -v nginx || ls /usr/sbin/nginx 2>/dev/null)}" ] || missing="${missing:+$missing }nginx"
if [ "${1-}" = "--missing" ]; then
    echo "$missing"
elif [ -n "$missing" ] && [ "$(id -u)" -eq 0 ]; then
    echo "Installing $missing from Debian."
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
elif [ -n "$missing" ]; then
    echo "Missing: $missing. Debian: sudo apt install $missing" >&2
    exit 1
fi
