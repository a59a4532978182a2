"""Compares the bits of every language, processor and Python that this machine can run, and prints a table."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import crosscheck_cpus
import crosscheck_languages
import crosscheck_pythons
import engine
import golden_cases
from checkout import say
from matrix import print_rows
from toolbox import open_toolbox

PARTS = ("languages", "cpus", "pythons")


def main() -> int:
    """Run the parts that the command line asks for; return 1 where one failed."""
    parser = argparse.ArgumentParser(prog="scripts/crosscheck", description=__doc__, allow_abbrev=False)
    choice = "; all unless named: " + ", ".join(PARTS)
    parser.add_argument("parts", nargs="*", metavar="PART", help="run only these parts" + choice)
    parts = parser.parse_args().parts or PARTS
    unknown = set(parts) - set(PARTS)
    if unknown:
        parser.error(f"no part is named {', '.join(sorted(unknown))}{choice}")
    box = open_toolbox()
    if box.complete:
        engine.build(box)
    rows = []
    with tempfile.TemporaryDirectory(prefix="recolva-") as scratch:
        if "languages" in parts:
            say("running the clients in other languages")
            rows += crosscheck_languages.check(box, Path(scratch))
        if "cpus" in parts:
            say("running Go and the C library on other processors")
            rows += crosscheck_cpus.check(box, Path(scratch))
        if "pythons" in parts:
            say("running the other Pythons")
            rows += crosscheck_pythons.check()
    print(f"\ndigest of 200,000 scores: {golden_cases.digest()}")
    return print_rows(rows)
