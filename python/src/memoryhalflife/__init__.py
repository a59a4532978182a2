"""Memory Half-Life: an agent's memory where knowledge decays unless it is used.

    >>> from memoryhalflife import MemoryEngine
    >>> engine = MemoryEngine(default_half_life=10)
    >>> _ = engine.store("user-name", "Alice")
    >>> engine.tick(8)
    []
    >>> engine.recall("user-name").confidence(engine.now)
    1.0

`MemoryEngine` keeps memories in memory; ``MemoryEngine.open("agent.db")`` keeps them in a file.
"""

from memoryhalflife._runtime import Expired
from memoryhalflife.engine import MemoryEngine, OnExpire
from memoryhalflife.memory import Memory
from memoryhalflife.values import JSON

__all__ = ["JSON", "Expired", "Memory", "MemoryEngine", "OnExpire"]
