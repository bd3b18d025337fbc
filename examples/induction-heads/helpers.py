"""Tables and pictures for a report, from the standard library alone.

This file lies beside the agent and runs where the agent runs; it never sees the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Sequence
from xml.sax.saxutils import escape

INK, FAINT, QUIET = "#1f2933", "#6b7683", "#b9c4d0"
ACCENT, SOFT_ACCENT = "#c2410c", "#eb9f6f"
_LIGHT, _DARK = (246, 248, 250), (30, 64, 110)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a Markdown table; numbers stand on the right."""
    aligned = ["---:" if _is_figure(cell) else "---" for cell in rows[0]]
    lines = [header, aligned, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def bar(share: float, width: int = 24) -> str:
    """Returns a bar of text for a share between 0 and 1."""
    return "█" * round(share * width) + "·" * (width - round(share * width))


def heatmap(
    x: float,
    y: float,
    size: float,
    words: Sequence[str],
    cells: Sequence[Sequence[float]],
    outlined: Sequence[tuple[int, int]],
) -> list[str]:
    """Draws a square of attention, rows looking at columns, in SVG.

    Cells are between 0 and 1. The outlined ones, given as (row, column), get a frame.
    """
    step = size / len(words)
    parts = [_box(x, y, size, size, _shade(0))]
    for row, values in enumerate(cells):
        for column in range(row + 1):  # nobody looks ahead
            place = x + column * step, y + row * step, step, step
            parts.append(_box(*place, _shade(values[column])))
    for row, column in outlined:
        place = x + column * step, y + row * step, step, step
        parts.append(_box(*place, "none", stroke=ACCENT))
    for index, word in enumerate(words):
        middle = (index + 0.5) * step
        parts.append(text(x - 6, y + middle + 3.5, word, 10, anchor="end"))
        parts.append(text(x + middle + 3.5, y - 6, word, 10, turn=-90, anchor="start"))
    return parts


class Bar(NamedTuple):
    """One row of a bar chart. Without a label, its note is a heading."""

    label: str
    share: float  # between 0 and 1
    colour: str
    note: str = ""


def bars(
    x: float, y: float, width: float, rows: Sequence[Bar], step: float
) -> list[str]:
    """Draws horizontal bars in SVG."""
    parts = []
    for index, row in enumerate(rows):
        top = y + index * step
        if not row.label:
            parts.append(text(x, top + 20, row.note, 11, FAINT))
            continue
        striking = row.colour != QUIET
        parts += [
            text(x - 10, top + 15, row.label, 12, anchor="end", bold=striking),
            _box(x, top, width, 22, "#f0f3f6"),
            _box(x, top, max(row.share * width, 1.5), 22, row.colour),
            text(x + width + 8, top + 15, f"{row.share:.0%}", 12, bold=striking),
            text(x + row.share * width + 8, top + 15, row.note, 11, FAINT),
        ]
    return parts


def legend(x: float, y: float, width: float) -> list[str]:
    """Draws what the shades of a heatmap mean, in SVG."""
    steps = 40
    parts = [
        _box(x + i * width / steps, y, width / steps + 0.5, 10, _shade(i / (steps - 1)))
        for i in range(steps)
    ]
    return parts + [
        text(x - 6, y + 9, "0", 10, FAINT, anchor="end"),
        text(x + width + 6, y + 9, "1", 10, FAINT),
    ]


def text(
    x: float,
    y: float,
    words: str,
    size: float,
    colour: str = INK,
    *,
    anchor: str = "start",
    bold: bool = False,
    turn: float = 0,
) -> str:
    """Returns one line of text in SVG."""
    weight = ' font-weight="600"' if bold else ""
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" '
        f'text-anchor="{anchor}"{weight}{turned}>{escape(words)}</text>'
    )


def write_picture(path: Path, width: int, height: int, parts: Sequence[str]) -> None:
    """Writes the parts as one SVG file on a white ground."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'font-family="Inter, Helvetica, Arial, DejaVu Sans, sans-serif">\n'
        + "\n".join([_box(0, 0, width, height, "#ffffff"), *parts])
        + "\n</svg>\n",
        encoding="utf-8",
    )


def _box(x, y, width, height, fill, stroke="none") -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.6"/>'
    )


def _shade(share: float) -> str:
    share = min(max(share, 0.0), 1.0)
    mixed = (round(a + (b - a) * share) for a, b in zip(_LIGHT, _DARK))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _is_figure(cell: object) -> bool:
    return str(cell).rstrip("%").replace(".", "", 1).replace("-", "", 1).isdigit()
