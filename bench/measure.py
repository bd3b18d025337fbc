"""Measuring two things fairly: in one run, in turns, compared round by round."""

import math
import statistics
from typing import Callable, Dict, List, NamedTuple, Sequence

Step = Callable[[], float]  # does the work once and returns the seconds that count
Steps = Callable[[int], List[float]]  # does the work that often and returns the seconds of each time
Samples = Dict[str, List[List[float]]]  # side -> rounds -> seconds


class Row(NamedTuple):
    """One line of the result: Seer against something else."""

    what: str
    isolation: str
    ours: List[List[float]]
    peer: str
    theirs: List[List[float]]


def rounds(sides: Dict[str, Step], count: int, batch: int = 1, warm: int = 1) -> Samples:
    """Runs every side in every round; see in_turns."""
    return in_turns({name: each(step) for name, step in sides.items()}, count, batch, warm)


def each(step: Step) -> Steps:
    return lambda n: [step() for _ in range(n)]


def in_turns(sides: Dict[str, Steps], count: int, batch: int, warm: int) -> Samples:
    """Runs every side in every round, each round beginning with another one.

    What disturbs the machine for a while then disturbs all sides, and a round's ratio stays what it is.
    """
    names = list(sides)
    for name in names:
        sides[name](warm)
    found: Samples = {name: [] for name in names}
    for n in range(count):
        at = n % len(names)
        for name in names[at:] + names[:at]:
            found[name].append(sides[name](batch))
    return found


def ratio(row: Row) -> float:
    """The median over the rounds of Seer's median in a round by the other's."""
    return statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(row.ours, row.theirs))


def spread(row: Row) -> Sequence[float]:
    """The middle half of the rounds' ratios."""
    all_ratios = sorted(statistics.median(a) / statistics.median(b) for a, b in zip(row.ours, row.theirs))
    return quantile(all_ratios, 0.25), quantile(all_ratios, 0.75)


def median(samples: List[List[float]]) -> float:
    return statistics.median(s for one in samples for s in one)


def p99(samples: List[List[float]]) -> float:
    return quantile(sorted(s for one in samples for s in one), 0.99)


def quantile(ordered: List[float], q: float) -> float:
    """The smallest value that at least the share q of them does not exceed; of few values, the largest."""
    return ordered[min(len(ordered) - 1, max(0, math.ceil(q * len(ordered)) - 1))]
