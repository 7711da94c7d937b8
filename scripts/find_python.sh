#!/bin/sh
# Prints the path of a Python that can run Chatsite, or says on standard error what is missing.
#
# With PYTHON=... no other interpreter is tried. Otherwise every folder in PATH is tried, since the first match may not
# run: version managers leave shims for versions that are not active.
set -u

candidates="python3.14 python3.13 python3.12 python3.11 python3 python"

# "3.11" and the modules that are missing; Debian ships Python without ensurepip, so venv alone proves nothing.
probe='
import sys
missing = []
for name in ("venv", "ensurepip", "sqlite3", "ssl"):
    try:
        __import__(name)
    except ImportError:
        missing.append(name)
print("%d.%d %s" % (sys.version_info[0], sys.version_info[1], ",".join(missing)))
'

found=""      # interpreters of other versions, for the message
incomplete="" # a fitting version without a module: the easiest to repair

try() {
    answer=$("$1" -c "$probe" 2>/dev/null </dev/null) || return 1
    version=${answer%% *}
    missing=${answer#* }
    case $version in
    3.11 | 3.12 | 3.13 | 3.14) ;;
    *)
        case ", $found, " in
        *", Python $version ($1), "*) ;;
        *) found="${found:+$found, }Python $version ($1)" ;;
        esac
        return 1
        ;;
    esac
    if [ -n "$missing" ]; then
        incomplete=${incomplete:-"$version|$1|$missing"}
        return 1
    fi
    printf '%s\n' "$1"
}

search() {
    old_ifs=$IFS
    for name in $candidates; do
        IFS=:
        for folder in $PATH; do
            IFS=$old_ifs
            [ -x "${folder:-.}/$name" ] && try "${folder:-.}/$name" && return 0
        done
        IFS=$old_ifs
    done
    return 1
}

if [ -n "${PYTHON-}" ]; then
    path=$(command -v "$PYTHON") && try "$path" && exit 0
    [ -n "$found$incomplete" ] || found="PYTHON=$PYTHON, which does not run"
else
    search && exit 0
fi

{
    if [ -n "$incomplete" ]; then
        IFS='|'
        # shellcheck disable=SC2086
        set -- $incomplete
        echo "Python $1 ($2) would do, but its modules are incomplete: $3 missing."
        case $3 in
        *venv* | *ensurepip*) echo "Debian and Ubuntu keep them apart: apt install python3-venv (or python$1-venv)." ;;
        *) echo "Install a complete Python and try again, or name one: make run PYTHON=/path/to/python3" ;;
        esac
    else
        echo "Chatsite needs Python 3.11, 3.12, 3.13 or 3.14, and none was found."
        echo "Found: ${found:-no Python at all}."
        echo "Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make run PYTHON=/path/to/python3"
    fi
} >&2
exit 1
