"""A chat agent whose memory fades.

Run ``python chat_agent.py [agent.db]``, tell it "my NAME is VALUE", and ask "what is my NAME?".
Every line is a turn, every turn a tick. What it is asked for stays fresh; what nobody asks for
fades, and after 17 turns it is gone.
"""

import re
import sys

from memoryhalflife import MemoryEngine


def reply(engine: MemoryEngine, line: str) -> str:
    """Answer one line, and remember or recall what it is about."""
    if told := re.fullmatch(r"my (.+?) is (.+?)[.!]?", line, re.IGNORECASE):
        engine.store(told[1].lower(), told[2])
        return f"I will remember your {told[1]}."
    if asked := re.fullmatch(r"what is my (.+?)\??", line, re.IGNORECASE):
        memory = engine.recall(asked[1].lower())
        return f"Your {asked[1]} is {memory.content}." if memory else "I don't know, or I have forgotten."
    fading = engine.fading(0.25)
    return f"By the way, is your {fading[0].key} still {fading[0].content}?" if fading else "Tell me more."


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else None
    with MemoryEngine.open(path, default_half_life=5) if path else MemoryEngine(default_half_life=5) as agent:
        for turn in sys.stdin:
            print(reply(agent, turn.strip()))
            for event in agent.tick():
                print(f"(I forget your {event.key}.)")
