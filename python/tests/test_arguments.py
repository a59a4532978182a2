"""Arguments are checked before anything sees them; nothing wraps, and texts name the fault."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recolva import _arguments as arguments
from recolva.errors import InvalidArgument, InvalidArgumentType

INT64 = "must be between -9223372036854775808 and 9223372036854775807, got"


class Index:
    def __init__(self, value=7):
        self.value = value

    def __index__(self):
        return self.value


class OddInteger(int):
    """Would pass every comparison, and be another number when asked."""

    def __index__(self):
        return 999

    def __le__(self, other):
        return True

    __ge__ = __lt__ = __gt__ = __le__


class OddString(str):
    """Equals everything, hashes by identity, and denies being blank."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return id(self)

    def __bool__(self):
        return True

    def strip(self, *_):
        return "x"


@pytest.mark.parametrize("value", [7, Index(), OddInteger(7)])
def test_integers_are_what_has_an_index(value):
    """Whatever has __index__ is an integer, and comes back as an int."""
    result = arguments.integer("now", value)
    assert (result, type(result)) == (7, int)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (7.0, "float"),
        (True, "bool"),
        ("7", "str"),
        (None, "NoneType"),
        (Decimal(7), "Decimal"),
        (Index("7"), "Index"),
    ],
)
def test_what_is_no_integer_is_named(value, kind):
    """The text names the Python type, and the error is a TypeError and a ValueError."""
    with pytest.raises(InvalidArgumentType) as caught:
        arguments.integer("now", value)
    assert str(caught.value) == f"now must be an integer, got {kind}"
    assert isinstance(caught.value, (TypeError, ValueError))


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_the_ends_of_int64_are_in(value):
    """Both ends of int64 pass."""
    assert arguments.integer("now", value) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2**63, "9223372036854775808"),
        (-(2**63) - 1, "-9223372036854775809"),
        (2**64, "18446744073709551616"),
        (10**5000, "an integer of 16610 bits"),
        (OddInteger(2**63), "9223372036854775808"),
    ],
    ids=lambda value: "" if isinstance(value, int) else value,  # 10**5000 has no text
)
def test_integers_beyond_int64_do_not_wrap(value, shown):
    """An integer that no int64 holds is refused, however large."""
    with pytest.raises(InvalidArgument) as caught:
        arguments.integer("now", value)
    assert str(caught.value) == f"now {INT64} {shown}"
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value", [0.5, Decimal("0.5"), Fraction(1, 2)])
def test_numbers_are_what_has_a_float(value):
    """Whatever has __float__ is a number, and comes back as a float."""
    result = arguments.number("threshold", value, 0.0, 1.0)
    assert (result, type(result)) == (0.5, float)


@pytest.mark.parametrize("zero", [0.0, -0.0, 0, Decimal("-0")])
def test_minus_zero_is_zero(zero):
    """-0.0 counts as 0."""
    assert str(arguments.number("threshold", zero, 0.0, 1.0)) == "0.0"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.5, "1.5"),
        (-0.1, "-0.1"),
        (2, "2"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (1e300, "1e+300"),
        (-1e-7, "-1e-7"),
        (10**400, "an integer of 1329 bits"),
        (Index(10**400), "an integer of 1329 bits"),
        (Fraction(10**400), "Infinity"),
        (Fraction(-(10**400)), "-Infinity"),
        (Decimal("1e400"), "Infinity"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers_out_of_range_are_shown(value, shown):
    """NaN and infinities are out of every range."""
    with pytest.raises(InvalidArgument) as caught:
        arguments.number("threshold", value, 0.0, 1.0)
    assert str(caught.value) == f"threshold must be between 0 and 1, got {shown}"


@pytest.mark.parametrize("value", [True, "0.5", None, 1j, [0.5]])
def test_what_is_no_number_is_named(value):
    """The text names the Python type."""
    with pytest.raises(InvalidArgumentType) as caught:
        arguments.number("threshold", value, 0.0, 1.0)
    assert str(caught.value) == f"threshold must be a number, got {type(value).__name__}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (5.0, "5"),
        (0.1, "0.1"),
        (100.0, "100"),
        (123.456, "123.456"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (1.25e-7, "1.25e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (123456789012345680000.0, "123456789012345680000"),
    ],
)
def test_numbers_are_shown_as_ecmascript_shows_them(value, text):
    """The examples of ECMA-262 and the borders between its forms."""
    assert arguments.number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shown_numbers_read_back(value):
    """The text is the number: it reads back as the same double."""
    assert float(arguments.number_text(value)) == value


@given(st.text())
def test_quoted_text_is_plain_json(text):
    """Quoted text is printable ASCII, and JSON of the text or of its first 37 characters."""
    shown = arguments.quoted(text)
    assert shown.isascii()
    assert shown.isprintable()
    expected = text if len(text) <= 40 else text[:37] + "..."
    # JSON pairs up surrogates that stand side by side
    assert json.loads(shown) == json.loads(json.dumps(expected))


WHITE_SPACE_RANGES = (
    *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680)),
    *((0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)


def test_white_space_is_the_list():
    """The characters of which a blank id consists are the specified ones."""
    specified = [chr(c) for low, high in WHITE_SPACE_RANGES for c in range(low, high + 1)]
    assert list(arguments.WHITE_SPACE) == specified


@pytest.mark.parametrize("value", ["a", " a ", "\x1c", "\u200b", "\ufeff", "\U0001f600", "\x00"])
def test_ids_need_one_character_that_is_not_white(value):
    """A character outside the list makes an id, though Python may call it white space."""
    assert arguments.record_id("id", value) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "id must not be blank"),
        (arguments.WHITE_SPACE, "id must not be blank"),
        ("a\ud800", "id must not contain a lone surrogate"),
        ("\udfff", "id must not contain a lone surrogate"),
        (b"a", "id must be a string, got bytes"),
        (None, "id must be a string, got NoneType"),
    ],
)
def test_what_is_no_id_is_refused(value, text):
    """Blank ids, lone surrogates and other types are refused."""
    with pytest.raises(InvalidArgument) as caught:
        arguments.record_id("id", value)
    assert str(caught.value) == text


def test_a_wrong_choice_lists_the_right_ones():
    """The text lists what is allowed and shows what came, safe for a terminal."""
    with pytest.raises(InvalidArgument) as caught:
        arguments.choice("action", "drop\x1b[2J", ("archive", "delete"))
    assert str(caught.value) == 'action must be archive or delete, got "drop\\u001b[2J"'


def test_no_subclass_of_str_gets_through():
    """What is checked is the text itself, whatever its class says about it; a plain str comes back."""
    for check, text in (
        (lambda value: arguments.choice("model", value, ("a", "b")), "a"),
        (lambda value: arguments.record_id("id", value), "a"),
    ):
        assert type(check(OddString(text))) is str
        with pytest.raises(InvalidArgument):
            check(OddString(" "))
