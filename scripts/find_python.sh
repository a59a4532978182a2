# Sourced by the front files beside this one: sets $python to a Python that is new enough, or says what to install.
# shellcheck shell=sh

want() {
    if command -v apt-get >/dev/null 2>&1; then
        echo "recolva: $1 is missing; install it with: apt-get install $2" >&2
    else
        echo "recolva: $1 is missing; install the system package $2" >&2
    fi
    exit 1
}

command -v git >/dev/null 2>&1 || want git git
python=
for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || want "Python 3.9 or newer" "python3 python3-venv"
"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || want "Python's venv with pip" python3-venv
