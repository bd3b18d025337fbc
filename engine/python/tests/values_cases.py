"""What the tests of values share."""

import datetime
import decimal
import json
import math
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any, Optional, Tuple

import numpy as np

from seer_worker import values
from seer_worker.values import array as values_array

VECTORS = Path(__file__).resolve().parents[2] / "protocol" / "testdata" / "vectors"


def vectors(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def module(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        return None


def available(expression: Optional[str]) -> Optional[Tuple[Any]]:
    """The value of an expression, if there is one, and what it needs is installed."""
    needed = {"np.": "numpy", "torch.": "torch", "pd.": "pandas"}
    names = {"np": np, "math": math, "datetime": datetime, "decimal": decimal}
    for prefix, name in needed.items():
        if expression is None or expression.startswith(prefix) and module(name) is None:
            return None
    names.update(torch=module("torch"), pd=module("pandas")) if "torch." in expression or "pd." in expression else None
    return (eval(expression, names),)


def same(a: Any, b: Any) -> bool:
    """Equal, of the same types, with NaN equal to NaN and two zeros."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def plain_form(v: Any) -> Any:
    """A value as somebody sees it who knows no tags, made comparable: numbers are rounded to what a float32 tells apart."""
    pandas, image = sys.modules.get("pandas"), sys.modules.get("PIL.Image")
    if isinstance(v, bool) or v is None or isinstance(v, str):
        return v
    if pandas and (v is pandas.NA or v is pandas.NaT):
        return None
    if isinstance(v, (np.datetime64, np.timedelta64)):
        return values_array.flat_list(_date_dtype(v.dtype), v.tobytes())[0]
    if isinstance(v, np.bool_):
        return bool(v)
    if isinstance(v, (int, np.integer)):
        return int(v)
    if isinstance(v, (float, np.floating)):
        v = float(v)
        return "NaN" if v != v else "Infinity" if v == math.inf else "-Infinity" if v == -math.inf else _rounded(v)
    if isinstance(v, bytes):
        return b64encode(v).decode()
    if isinstance(v, (complex, np.complexfloating)):
        return _complex(complex(v))
    if isinstance(v, np.ndarray):
        return [plain_form(x) for x in v]
    if hasattr(v, "__array__") and type(v).__module__ == "ml_dtypes" or type(v).__name__ in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return plain_form(float(v))
    if isinstance(v, values.Array):
        return plain_form(v.tolist())
    if isinstance(v, dict):
        return (
            {k: plain_form(x) for k, x in v.items()} if all(isinstance(k, str) for k in v) else plain_form([[k, x] for k, x in v.items()])
        )
    if isinstance(v, (list, tuple)):
        return [plain_form(x) for x in v]
    if isinstance(v, datetime.timedelta):
        return _duration(v)
    if isinstance(v, (datetime.datetime, datetime.date, datetime.time)):
        return v.isoformat()
    if isinstance(v, decimal.Decimal):
        return str(v)
    if isinstance(v, values.HandleRef):
        return {"handle": plain_form(v.info)}
    if isinstance(v, values.Image):
        return "data:image/%s;base64,%s" % (v.format, b64encode(v.data).decode())
    if image and isinstance(v, image.Image):
        return "data:image/png;base64," + b64encode(v.fp.getvalue()).decode()
    if isinstance(v, values.DataFrame) or pandas and isinstance(v, pandas.DataFrame):
        return _records(v, pandas)
    if isinstance(v, values.Series) or pandas and isinstance(v, pandas.Series):
        index = v.index if isinstance(v, values.Series) else None if isinstance(v.index, pandas.RangeIndex) else v.index
        column = plain_form(v.tolist())
        return column if index is None else [[plain_form(i), x] for i, x in zip(index, column)]
    raise AssertionError("a %r" % type(v))


def _records(v: Any, pandas: Any) -> Any:
    if isinstance(v, values.DataFrame):
        levels = [] if v.index is None else v.index if len(v.names) > 1 else [v.index]
        names, columns, data = v.names, v.columns, v.data
    else:
        levels = [] if isinstance(v.index, pandas.RangeIndex) else [list(v.index.get_level_values(i)) for i in range(v.index.nlevels)]
        names, columns, data = v.index.names, list(v.columns), [v.iloc[:, i].tolist() for i in range(v.shape[1])]
    keys = [n or ("index" if len(levels) == 1 else "level_%d" % i) for i, n in enumerate(names)][: len(levels)] + [str(c) for c in columns]
    return [dict(zip(keys, plain_form(row))) for row in zip(*[plain_form(list(c)) for c in [*levels, *data]])]


def _rounded(v: float) -> float:
    single = float(np.float32(v)) if abs(v) < 3.5e38 else v
    return single if single or not v else v


def _date_dtype(dtype: Any) -> str:
    return ("datetime64[%s]" if dtype.kind == "M" else "timedelta64[%s]") % np.datetime_data(dtype)[0]


def _complex(v: complex) -> str:
    def part(x: float, sign: str) -> str:
        text = "nan" if x != x else "inf" if x == math.inf else "-inf" if x == -math.inf else "%g" % x
        return text if text.startswith("-") else sign + text

    return part(v.real, "") + part(v.imag, "+") + "j"


def _duration(v: datetime.timedelta) -> str:
    sign, v = ("-", -v) if v.days < 0 else ("", v)
    fraction = (".%06d" % v.microseconds).rstrip("0").rstrip(".")
    return "%sP%dDT%d%sS" % (sign, v.days, v.seconds, fraction)
