"""Patterns of a token's bounds, compared in a time that grows with the text alone.

Python's `re` tries one way after the other: a caller who knows the pattern can send a text on which it takes years. Here all ways
are followed at once. Lookahead, lookbehind and references to groups cannot be followed like that, and are refused.
"""

import re
import sys
from typing import Any, Callable, Dict, List, Set, Tuple

if sys.version_info >= (3, 11):
    from re import _compiler as compiler  # type: ignore[attr-defined]
    from re import _parser as parser
else:
    import sre_compile as compiler
    import sre_parse as parser

_STEPS = 500_000  # less than a second
_STATES = 10_000
_DEEP = 100  # groups in groups
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII
_ANCHORS = {"AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\Z", "AT_BOUNDARY": r"\b", "AT_NON_BOUNDARY": r"\B"}
_EDGE = Callable[[str, int], bool]


class TooLong(ValueError):
    """The text would take longer than a bound of an argument may."""


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern is found in a text; letters and digits are those of ASCII. re.error for what is no such pattern."""
    re.compile(pattern, re.ASCII)  # says what is wrong, and where
    tree = parser.parse(pattern, re.ASCII)
    flags = tree.state.flags
    if flags & ~_FLAGS:
        raise re.error("of the flags it may have a, i, m, s and x")
    machine = _Machine(flags)
    end = machine.sequence(tree, [machine.state()], 0)
    return lambda text: machine.found(text, set(end))


class _Machine:
    """States, from each of which an edge leads on with a letter, or without one."""

    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._letters: List[List[Tuple[Callable[[str], bool], int]]] = []
        self._free: List[List[Tuple[_EDGE, int]]] = []

    def state(self) -> int:
        if len(self._letters) >= _STATES:
            raise re.error("it repeats too much")
        self._letters.append([])
        self._free.append([])
        return len(self._letters) - 1

    def join(self, starts: List[int], test: _EDGE = lambda text, at: True) -> int:
        """A state that is reached from all of these without a letter."""
        end = self.state()
        for start in starts:
            self._free[start].append((test, end))
        return end

    def sequence(self, parts: Any, ends: List[int], depth: int) -> List[int]:
        """Where it may stand after the parts."""
        if depth > _DEEP:
            raise re.error("it has groups in more than %d groups" % _DEEP)
        for op, argument in parts:
            ends = self._part(op.name, argument, self.join(ends), depth)
        return ends

    def _part(self, op: str, argument: Any, start: int, depth: int) -> List[int]:
        if op == "BRANCH":
            return [end for way in argument[1] for end in self.sequence(way, [start], depth + 1)]
        if op == "SUBPATTERN":
            if argument[1] or argument[2]:
                raise re.error("flags stand at its beginning, not in a group")
            return self.sequence(argument[3], [start], depth + 1)
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(*argument, start, depth + 1)
        if op == "AT":
            return [self.join([start], self._anchor(argument.name))]
        end = self.state()
        self._letters[start].append((self._letter(op, argument), end))
        return [end]

    def _repeat(self, least: int, most: int, parts: Any, start: int, depth: int) -> List[int]:
        ends = [start]
        for _ in range(least):
            ends = self.sequence(parts, ends, depth)
        if most == parser.MAXREPEAT:
            again = self.join(ends)
            for end in self.sequence(parts, [again], depth):
                self._free[end].append((lambda text, at: True, again))
            return [again]
        out = list(ends)
        for _ in range(most - least):
            ends = self.sequence(parts, ends, depth)
            out += ends
        return out

    def _anchor(self, at: str) -> _EDGE:
        lines = bool(self._flags & re.MULTILINE)
        if at == "AT_BEGINNING" and lines:
            return lambda text, at: at == 0 or text[at - 1] == "\n"
        if at == "AT_BEGINNING":
            return lambda text, at: at == 0
        if at == "AT_END":  # the callers have made \Z of what they mean by $
            return lambda text, at: at == len(text)
        test = re.compile(_ANCHORS[at], re.ASCII)
        return lambda text, at: test.match(text, at) is not None

    def _letter(self, op: str, argument: Any) -> Callable[[str], bool]:
        """One letter is compared by `re` itself."""
        if op not in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            raise re.error("it may not look ahead or back, nor refer to a group: that can take forever")
        if op == "ANY":
            return (lambda letter: True) if self._flags & re.DOTALL else (lambda letter: letter != "\n")
        state = parser.State()
        state.str, state.flags = "", self._flags
        test = compiler.compile(parser.SubPattern(state, [(getattr(parser, op), argument)]), self._flags).match
        known: Dict[str, bool] = {}

        def same(letter: str) -> bool:
            if letter not in known:
                if len(known) > 1000:
                    known.clear()
                known[letter] = test(letter) is not None
            return known[letter]

        return same

    def found(self, text: str, ends: Set[int]) -> bool:
        """Follows all ways through the text. TooLong."""
        here: Set[int] = set()
        steps = 0
        for at in range(len(text) + 1):
            here.add(0)
            here = self._onward(here, text, at)
            if here & ends:
                return True
            steps += len(here) + 1
            if steps > _STEPS:
                raise TooLong("is too long to be compared with its pattern")
            if at < len(text):
                here = {end for state in here for test, end in self._letters[state] if test(text[at])}
        return False

    def _onward(self, states: Set[int], text: str, at: int) -> Set[int]:
        reached, todo = set(states), list(states)
        while todo:
            for test, end in self._free[todo.pop()]:
                if end not in reached and test(text, at):
                    reached.add(end)
                    todo.append(end)
        return reached
