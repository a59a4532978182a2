#!/usr/bin/env python3
"""Stands where decay-sweep would be in a wheel that was built without Go: it says how to get the program."""

import sys

sys.exit(
    """decay-sweep: this recolva was built without Go, so it holds the Python package alone.
Get the program in one of these ways:
  pip install --only-binary recolva --force-reinstall recolva      the released wheel for your platform
  go install github.com/iamfaham/recolva/cmd/decay-sweep@latest    with Go
Or use the Python functions, which do the same: python -c 'import recolva.jsonl; help(recolva.jsonl)'"""
)
