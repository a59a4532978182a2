"""A writer of a thousand lines a second: python writers.py KIND STORE STOP. Prints how many records it wrote."""

from __future__ import annotations

import itertools
import os
import sys
import time
from functools import partial
from pathlib import Path

from recolva import jsonl


def line(number: int) -> bytes:
    return b'{"id":"%d","last_accessed_ms":%d}\n' % (number, -85_400_000 if number % 2 else 87_400_000)


def added(new: bytes, content: bytes) -> bytes:
    return content + new


def main(kind: str, store: str, stop: str) -> int:
    """Write until the stop file is there."""
    if kind == "rewrite":
        sys.path.insert(0, os.path.dirname(stop))
        from rewrite import rewrite
    held, number = -1, 0
    for number in itertools.count():
        if held >= 0 and number % 50 == 0:
            os.close(held)
            held = -1
        if number and os.path.exists(stop):
            break
        time.sleep(0.001)  # or the store outgrows the test
        if kind == "append":
            jsonl.append(store, line(number))
        elif kind == "reopen":
            with open(store, "ab", buffering=0) as file:
                file.write(line(number))
        elif kind == "rewrite":
            rewrite(store, partial(added, line(number)))
        else:
            if held < 0:
                held = os.open(store, os.O_WRONLY | os.O_APPEND)
            os.write(held, line(number))
    if held >= 0:
        os.close(held)
    return number


if __name__ == "__main__":
    Path(sys.argv[3]).with_suffix(".started").touch()
    print(main(*sys.argv[1:]))  # noqa: T201
