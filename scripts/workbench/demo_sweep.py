"""The part of the demonstration that uses the installed package; it prints one JSON object for demo.py.

demo_sweep.py FUNCTION < [[FILE...], {KEYWORD: VALUE...}]
"""

from __future__ import annotations

import json
import sys
import time

import recolva
import recolva.jsonl


def main() -> None:
    """Call one function of recolva.jsonl and report its decisions."""
    function = getattr(recolva.jsonl, sys.argv[1])
    files, keywords = json.load(sys.stdin)
    started = time.perf_counter()
    decisions = function(*files, **keywords)
    seconds = time.perf_counter() - started
    backend = recolva.backend()
    report = {
        "seconds": seconds,
        "backend": backend.name if backend.name == "native" else str(backend),
        "decisions": [(decision.id, decision.score, decision.prune) for decision in decisions],
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
