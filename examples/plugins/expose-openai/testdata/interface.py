"""Functions of every shape."""
import enum
from dataclasses import dataclass
from typing import Iterator, List, Literal, Optional


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Box:
    at: Point
    size: Optional[float] = None


@expose
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first
        b: the second
    """
    return a + b


@expose
def greet(name: str, greeting: str = "Hello") -> str:
    """Greet | somebody: `{{seer.connection}}` "quoted" \\ ä."""
    return f"{greeting}, {name}!"


@expose
def paint(color: Color, way: Literal["fast", "slow"]) -> str:
    return f"{color.value} {way}"


@expose
def move(point: Point, by: List[float]) -> Point:
    return Point(point.x + by[0], point.y + by[1])


@expose
def wrap(box: Box) -> Box:
    return box


@expose
def positional(a: int, b: int = 2, /, c: int = 3) -> list:
    return [a, b, c]


@expose
def everything(a: int, b: int = 2, *rest: int, mode: str = "mean", **more: str) -> dict:
    return {"a": a, "b": b, "rest": list(rest), "mode": mode, "more": more}


@expose
def anything(value):
    return value


@expose
def nothing() -> None:
    """Nothing at all."""


@expose
def count(n: int) -> Iterator[int]:
    """Count."""
    yield from range(n)


@expose
def größe(text: str) -> int:
    """How long a text is."""
    return len(text)


@expose
def a_function_with_a_name_that_is_much_longer_than_what_the_api_takes_for_a_tool() -> str:
    return "long"


@expose
def fails(why: str) -> None:
    raise ValueError(why)
