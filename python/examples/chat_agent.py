"""A chat agent that forgets: tell it "I like tea", ask "What do I like?", say "forget my name".

python chat_agent.py [memory.db]      a line is a turn; a fact with "!" fades four times slower
"""

import re
import sys

from memoryhalflife import Memory, MemoryEngine

VERB = r"(?:(is|are|lives?|works?)|am|likes?|needs?|has|have)"  # the first ones have one answer
FACT = re.compile(rf"((?!wh|how|forget).+? {VERB}) .*[^?]", re.IGNORECASE)
FILLER = frozenset(re.findall(r"\w+", "a about am an are at do does forget in is me of s tell that the what where who"))
MIRROR = {"i": "you", "my": "your", "am": "are"}


def words(text: str) -> set[str]:
    """Return what a text is about."""
    return {w.removesuffix("s") for w in re.findall(r"\w+", text.lower()) if w not in FILLER}


def known(engine: MemoryEngine, asked: set[str]) -> list[Memory]:
    """Find the facts whose topic is asked for and that say all that is asked; refresh nothing."""
    return [m for m in engine.memories() if {*m.tags} <= asked <= words(str(m.content)) | {*m.tags}]


def answer(engine: MemoryEngine, line: str) -> str:
    """Remember what a line tells, or say what is known about it."""
    if fact := FACT.fullmatch(line):
        said = re.sub(r"\w+", lambda w: MIRROR.get(w[0].lower(), w[0]), line.rstrip(".!"))
        key, half_life = fact[1].lower() if fact[2] else said, 12 if line.endswith("!") else 3
        engine.store(key, said, half_life=half_life, tags=words(fact[1]))
        return "Noted."
    found = known(engine, words(line))
    if line.lower().startswith("forget "):
        return f"Forgotten: {sum(engine.forget(m.key) for m in found)}."
    for m in found:
        engine.recall(m.key)  # only what goes into the answer becomes fresh again
    return "; ".join(f"{m.content} ({m.confidence(engine.now):.0%})" for m in found) or "Hm."


with MemoryEngine.open(sys.argv[1]) if sys.argv[1:] else MemoryEngine() as engine:
    for line in filter(None, map(str.strip, sys.stdin)):
        with engine.batch():  # a turn is kept as a whole, or not at all
            reply, gone = answer(engine, line), engine.tick()
            weak = [m for m in engine.fading(0.2) if not m.is_fading(engine.now - 1, 0.2)]
        print(reply, *[f"[fading: {m.content}]" for m in weak], *[f"[gone: {e.key}]" for e in gone])
