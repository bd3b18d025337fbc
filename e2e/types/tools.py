"""Tools whose types a checker can follow."""
from typing import Iterator, Literal, Optional, TypedDict


class Point(TypedDict):
    x: float
    y: float


@expose
def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b


@expose
def pick(kind: Literal["left", "right"], *, times: Optional[int] = None) -> str:
    return kind * (times or 1)


@expose
def names(values: list[str]) -> dict[str, int]:
    return {v: len(v) for v in values}


@expose
def count(n: int) -> Iterator[int]:
    for i in range(n):
        yield i


@expose
def move(point: Point) -> Point:
    return point


@expose
def anything(x):
    return x
