"""The tree of errors is the one that its docstring draws, and errors cross process pools."""

from __future__ import annotations

import builtins
import pickle
import re

import pytest

from recolva import errors


def test_the_tree_is_drawn_as_it_is():
    """Each line of the drawing names a class, its built-in base, and its place in the tree."""
    drawn = re.findall(r"^    ([│├└─ ]*)(\w+)(?: \((\w+)(?: too)?\))?  ", errors.__doc__, re.MULTILINE)
    assert sorted(name for _, name, _ in drawn) == errors.__all__
    parents = {}
    for branch, name, builtin in drawn:
        depth = len(branch) // 4
        parents[depth] = getattr(errors, name)
        assert (depth == 0) == (parents[depth] is errors.RecolvaError)
        assert issubclass(parents[depth], parents[max(0, depth - 1)])
        assert not builtin or issubclass(parents[depth], getattr(builtins, builtin))


@pytest.mark.parametrize("name", errors.__all__)
def test_errors_survive_pickling(name):
    """What is raised in a process of a pool arrives as it was."""
    arguments = {"InvalidRecord": ("line 3: bad", 3), "PartialPruneError": (["a"], ["b", "c"])}
    error = getattr(errors, name)(*arguments.get(name, ("something is wrong",)))
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_a_fault_of_a_line_has_its_number():
    """InvalidRecord carries the number of the line, or None."""
    assert errors.InvalidRecord("line 3: id is missing", 3).line == 3
    assert errors.InvalidRecord("id is missing").line is None


def test_a_string_is_no_list_of_ids():
    """PartialPruneError("abc", …) is an error, not three ids."""
    for arguments in (("abc", []), ([], "abc")):
        with pytest.raises(errors.InvalidArgumentType, match="must be a list of ids, got str"):
            errors.PartialPruneError(*arguments)
