"""Run as ``python -m recolva selftest``: print the digest by which a build is compared with others."""

from __future__ import annotations

import sys

from recolva._backend import backend
from recolva._selftest import digest
from recolva.errors import RecolvaError

_USAGE = """usage: python -m recolva selftest

Computes 200,000 scores with the backend of this process and prints their SHA-256 as 64
hexadecimal digits: the same for every build of recolva, in every language, on every processor.
Which backend it was is said on standard error. RECOLVA_NATIVE=0 takes pure Python, 1 the library.
"""


def main(arguments: list[str]) -> int:
    """Return the exit status: 0 done, 1 failed, 2 misuse."""
    if arguments in (["-h"], ["--help"]):
        print(_USAGE, end="")  # noqa: T201 - the answer
        return 0
    if arguments != ["selftest"]:
        print(_USAGE, end="", file=sys.stderr)  # noqa: T201
        return 2
    try:
        print(backend(), file=sys.stderr)  # noqa: T201
        print(digest())  # noqa: T201 - the answer
    except RecolvaError as error:
        print(f"recolva: error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
