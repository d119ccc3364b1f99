"""Traces of statements about a few variables, drawn one by one: each compiled alone, and all of them as one function, do as CPython.

A statement speaks of the variables `a`, `b`, `c`, of the integers `i` and `j`, and tells what it was asked by
`log.append`. Alone, `i` and `j` are arguments, and what it raises leaves the function; in the whole trace they
are constants, and what is raised is caught, told, and the next statement runs.
"""

from __future__ import annotations

import copy
from functools import cache

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from methods import outcome
from treadle import njit

__all__ = ["traces"]

NUMBERS = st.integers(-6, 6)
REFUSED = "is a list that is passed twice, and would hold other items here"  # one that is empty has no type of items yet
CAUGHT = """
    try:
        i, j = {i}, {j}
        {statement}
    except Exception as e:
        log.append(f"{k}: {{e}}")
{cut}"""


def function(parameters, body):
    """The function of these lines, compiled."""
    space: dict = {}
    exec(f"def f({parameters}):\n    log = ['']\n{body}\n    return a, b, c, log\n", space)
    return njit(space["f"])


@cache
def alone(statement, cut):
    """One statement as a function, which is compiled once."""
    return function("a, b, c, i, j", f"    {statement}\n{cut}")


def agree(f, state, *numbers):
    """Both give the same, or raise the same, and leave the same behind; what they were given is told apart by identity."""
    mine, theirs = copy.deepcopy(state), copy.deepcopy(state)
    got, want = outcome(f, *mine, *numbers), outcome(f.py_func, *theirs, *numbers)
    if got[0] is not TypeError or REFUSED not in str(got[1]):
        assert got == want and shown((got, mine)) == shown((want, theirs))
    raised = isinstance(want[0], type)
    if not raised and not isinstance(got[0], type):
        assert same_objects(got[:3], mine) == same_objects(want[:3], theirs)
    return theirs if raised else want[:3]


def shown(x):
    """The text of a value, which tells 1 and True apart and has the order of dicts; that of sets is any."""
    if isinstance(x, (tuple, list)):
        return [type(x).__name__, *map(shown, x)]
    return repr(sorted(x)) if isinstance(x, set) else repr(x)


def same_objects(results, given):
    """Which containers are one object."""
    values = [x for x in (*results, *given) if isinstance(x, (list, dict, set))]
    return [[x is y for y in values] for x in values]


def traces(values, statements, cut, examples=20, steps=14):
    """The test case of a machine of these statements. `values` draws a variable; `cut` is what keeps it short."""
    cut = "\n".join(f"    {line}" for line in cut)

    class Machine(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.trace = []

        @initialize(state=st.tuples(values, values, values))
        def begin(self, state):
            self.start = self.state = state

        @rule(statement=st.sampled_from(statements), i=NUMBERS, j=NUMBERS)
        def step(self, statement, i, j):
            self.state = agree(alone(statement, cut), self.state, i, j)
            self.trace.append((statement, i, j))

        def teardown(self):
            if self.trace:
                lines = [
                    CAUGHT.format(statement=statement, i=i, j=j, k=k, cut=cut)
                    for k, (statement, i, j) in enumerate(self.trace)
                ]
                agree(function("a, b, c", "".join(lines)), self.start)

    case = Machine.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    return case
