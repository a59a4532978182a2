"""Adapters: stores of other kinds as a `recolva.MemoryStore`. Importing this imports none of them.

    recolva.adapters.ticks    memoryhalflife.MemoryEngine, and its records as JSONL

To write your own, make a class with the three methods of `recolva.MemoryStore`; what each must
promise is written there.
"""
