"""The decay models: frozen dataclasses that check their parameters once; then scoring cannot fail.

    exponential   2^(-age_ms / half_life_ms)
    power-law     importance * (1 + age_ms / scale_ms)^(-exponent)

``age_ms = max(0, now - last_accessed)``. A score is the double nearest to the exact value of the
formula, ties to even, subnormals kept, so it is the same in every language and on every machine.

`MODELS` is the only list of models. Everything that varies with the model is derived from the
fields of its class: argument checks, error texts and the signatures of the native library.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Union

from recolva import _kernel
from recolva._arguments import choice, integer, number
from recolva.errors import InvalidArgument

__all__ = ["MODELS", "Exponential", "Model", "Parameter", "PowerLaw", "build_model", "parameters"]

_LONGEST_MS = 315_576_000_000  # ten years of 365.25 days


class Parameter(NamedTuple):
    """One parameter of a model."""

    name: str
    """Field of the class, and name in the JSON forms of a policy: ``half_life_ms``."""
    keyword: str
    """Keyword of the documented functions: ``half_life_millis``."""
    doc: str
    unit: str
    """``ms``, or the empty string for a plain number."""
    low: float
    high: float
    integer: bool

    def check(self, value: Any, shown: str) -> Any:
        """Return value within the bounds; an error names the parameter as shown."""
        if self.integer:
            return integer(shown, value, self.low, self.high)
        return number(shown, value, self.low, self.high)


def _millis(keyword: str, doc: str) -> dict[str, Any]:
    """Describe a duration in milliseconds, as the metadata of a field."""
    bounds = {"unit": "ms", "low": 1000, "high": _LONGEST_MS, "integer": True}
    return {"keyword": keyword, "doc": doc, **bounds}


class _Checked:
    """Checks the parameters of a model when it is built."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for parameter in parameters(type(self)):
            value = parameter.check(getattr(self, parameter.name), parameter.name)
            object.__setattr__(self, parameter.name, value)


@dataclass(frozen=True)
class Exponential(_Checked):
    """Half of the score is lost in every half-life since the last access."""

    name: ClassVar[str] = "exponential"
    needs_importance: ClassVar[bool] = False

    half_life_ms: int = field(metadata=_millis("half_life_millis", "time in which a score halves"))

    def score(self, last_accessed: int, now: int, importance: float = 1.0) -> float:  # noqa: ARG002 - models are called alike
        """Return 2^(-age / half_life_ms); the importance is ignored, whatever it is."""
        age = now - last_accessed
        return _kernel.half_life(age, self.half_life_ms) if age > 0 else 1.0


@dataclass(frozen=True)
class PowerLaw(_Checked):
    """The score starts at the importance and fades ever more slowly."""

    name: ClassVar[str] = "power-law"
    needs_importance: ClassVar[bool] = True

    scale_ms: int = field(metadata=_millis("scale_millis", "time horizon of the decay"))
    exponent: float = field(
        metadata={
            "keyword": "exponent",
            "doc": "how strongly age reduces the score",
            "unit": "",
            "low": 0.1,
            "high": 10.0,
            "integer": False,
        },
    )

    def score(self, last_accessed: int, now: int, importance: float = 1.0) -> float:
        """Return importance * (1 + age / scale_ms)^(-exponent) for an importance in [0, 1]."""
        age = now - last_accessed if now > last_accessed else 0
        return _kernel.power(importance, age, self.scale_ms, self.exponent)


Model = Union[Exponential, PowerLaw]

MODELS: dict[str, type[Model]] = {model.name: model for model in (Exponential, PowerLaw)}


_PARAMETERS: dict[Any, tuple[Parameter, ...]] = {}


def parameters(model: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a model class, in order."""
    known = _PARAMETERS.get(model)
    if known is None:
        known = tuple(Parameter(name=f.name, **f.metadata) for f in fields(model))
        _PARAMETERS[model] = known
    return known


def build_model(model: str, **values: Any) -> Model:
    """Build a model from the keywords of the documented functions, in which None means not given.

    >>> build_model("exponential", half_life_millis=86_400_000, scale_millis=None, exponent=None)
    Exponential(half_life_ms=86400000)

    Raises InvalidArgument for an unknown model, for a parameter of another model, and for one that
    is missing or out of range.
    """
    kind = MODELS[choice("model", model, MODELS)]
    own = {parameter.keyword: parameter for parameter in parameters(kind)}
    for keyword, value in values.items():
        if value is not None and keyword not in own:
            raise InvalidArgument(f"{keyword} is not a parameter of the {kind.name} model")
    checked = {}
    for keyword, parameter in own.items():
        value = values.get(keyword)
        if value is None:
            raise InvalidArgument(f"{keyword} is required by the {kind.name} model")
        checked[parameter.name] = parameter.check(value, keyword)
    return kind(**checked)
