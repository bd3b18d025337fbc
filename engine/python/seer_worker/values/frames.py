"""Tables: pandas' DataFrame and Series, and small types in their place where pandas is not installed."""

import re
from typing import Any, Dict, List, Optional, Sequence

from .array import Array
from .types import Unserialisable, installed

_PLAIN_DTYPE = re.compile(r"bool|boolean|string|category|[iIuU]{1,2}nt(8|16|32|64)|[fF]loat(16|32|64)|complex(64|128)"
                          r"|(datetime64|timedelta64)\[[a-z]+\]")
_ZONED_DTYPE = re.compile(r"datetime64\[[a-z]+, ([A-Za-z0-9_+:/-]{1,64})\]")


class Series:
    """A column of a table: name, data (an Array or a list), index (None: 0, 1, 2 …), dtype (pandas' name for it)."""

    __slots__ = ("name", "data", "index", "dtype", "names")

    def __init__(self, name: Any, data: Any, index: Any = None, dtype: str = "", names: Sequence[Any] = ()) -> None:
        self.name, self.data, self.index, self.dtype, self.names = name, data, index, dtype, list(names)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, i: Any) -> Any:
        return self.data[i]

    def tolist(self) -> List[Any]:
        return self.data.tolist() if isinstance(self.data, Array) else list(self.data)

    def __repr__(self) -> str:
        return "Series(%r, %s, %d values)" % (self.name, self.dtype, len(self))


class DataFrame:
    """A table: columns (their names), data (an Array or a list for each), index (None: 0, 1, 2 …); t["name"], len, records()."""

    __slots__ = ("columns", "data", "index", "dtypes", "names")

    def __init__(self, columns: Sequence[Any], data: Sequence[Any], index: Any = None, dtypes: Sequence[str] = (),
                 names: Sequence[Any] = ()) -> None:
        self.columns, self.data, self.index = list(columns), list(data), index
        self.dtypes, self.names = list(dtypes), list(names)

    @property
    def shape(self) -> Any:
        return len(self), len(self.columns)

    def __len__(self) -> int:
        if self.data:
            return len(self.data[0])
        return 0 if self.index is None else len(self.index)

    def __getitem__(self, column: Any) -> Any:
        if column not in self.columns:
            raise KeyError(column)
        return self.data[self.columns.index(column)]

    def records(self) -> List[Dict[Any, Any]]:
        """A dict for each row."""
        columns = [d.tolist() if isinstance(d, Array) else d for d in self.data]
        return [dict(zip(self.columns, row)) for row in zip(*columns)]

    def __repr__(self) -> str:
        return "DataFrame(%d rows: %s)" % (len(self), ", ".join("%s %s" % pair for pair in zip(self.columns, self.dtypes or self.columns)))


def write_frame(to: Any, value: DataFrame) -> Any:
    """The tag of a table; the same fields as read_frame takes."""
    data = [_written(to, name, column) for name, column in zip(value.columns, value.data)]
    return to.tag(frame={"columns": to.convert(value.columns), "data": data, "index": to.convert(value.index),
                         "dtypes": to.convert(value.dtypes), "names": to.convert(value.names)})


def write_series(to: Any, value: Series) -> Any:
    """The tag of a column."""
    return to.tag(series={"name": to.convert(value.name), "data": to.convert(value.data), "index": to.convert(value.index),
                          "dtype": value.dtype, "names": to.convert(value.names)})


def _written(to: Any, name: Any, column: Any) -> Any:
    try:
        return to.convert(column)
    except Unserialisable as e:
        e.path.insert(0, "[%.80r]" % (name,))
        raise


def write_pandas(to: Any, pandas: Any, value: Any) -> Any:
    """The tag of what is of pandas, NotImplemented for all else."""
    if value is pandas.NaT or value is pandas.NA:
        return None
    if isinstance(value, pandas.DataFrame):
        columns = [value.iloc[:, i] for i in range(value.shape[1])]
        return write_frame(to, DataFrame(list(value.columns), [_column(c) for c in columns], _index(pandas, value.index),
                                         [str(c.dtype) for c in columns], list(value.index.names)))
    if isinstance(value, pandas.Series):
        return write_series(to, Series(value.name, _column(value), _index(pandas, value.index), str(value.dtype), list(value.index.names)))
    if isinstance(value, pandas.Index):
        return to.convert(_labels(pandas, value))
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return to.convert(_column(pandas.Series(value)))
    return NotImplemented


def _column(column: Any) -> Any:
    """The values of a column: an array, or a list where None, texts or objects are among them."""
    dtype = column.dtype
    if getattr(dtype, "tz", None) is not None:
        return column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if dtype.kind in "biufcmM" and type(dtype).__module__.startswith("numpy"):
        return column.to_numpy()
    return column.tolist()


def _index(pandas: Any, index: Any) -> Any:
    if isinstance(index, pandas.RangeIndex) and (index.start, index.step, index.name) == (0, 1, None):
        return None
    return _labels(pandas, index)


def _labels(pandas: Any, index: Any) -> Any:
    if isinstance(index, pandas.MultiIndex):
        return [_column(pandas.Series(index.get_level_values(i))) for i in range(index.nlevels)]
    return _column(pandas.Series(index))


def read_frame(content: Any) -> Any:
    """A table of the content of its tag, already decoded: of pandas, if that is installed."""
    columns, data, dtypes = content.get("columns"), content.get("data"), content.get("dtypes") or []
    if not isinstance(columns, list) or not isinstance(data, list) or len(columns) != len(data) or not _are_texts(dtypes, len(data)):
        raise ValueError("a frame needs columns, and data and a dtype for each of them")
    count = len(data[0]) if data and hasattr(data[0], "__len__") else None
    index, names = _read_index(content, count)
    for column in data:
        _check_column(column, count)
    columns = [tuple(c) if isinstance(c, list) else c for c in columns]
    pandas = installed("pandas")
    if pandas is None:
        return DataFrame(columns, data, index, dtypes, names)
    try:
        labels = _pandas_index(pandas, index, names, count)
        made = {i: _pandas_column(pandas, d, dtypes[i] if dtypes else "", labels) for i, d in enumerate(data)}
        frame = pandas.DataFrame(made, index=labels)
        frame.columns = pandas.Index(columns) if not columns or not all(isinstance(c, tuple) for c in columns) \
            else pandas.MultiIndex.from_tuples(columns)
        return frame
    except Exception as e:  # what pandas says about values that do not fit, and it has many ways
        raise ValueError("a frame cannot be made: %s" % e) from None


def read_series(content: Any) -> Any:
    """The same for a column."""
    data, dtype, name = content.get("data"), content.get("dtype") or "", content.get("name")
    if not _are_texts([dtype], 1) or not hasattr(data, "__len__"):
        raise ValueError("a series needs data and a dtype")
    index, names = _read_index(content, len(data))
    _check_column(data, len(data))
    pandas = installed("pandas")
    if pandas is None:
        return Series(name, data, index, dtype, names)
    try:
        labels = _pandas_index(pandas, index, names, len(data))
        return _pandas_column(pandas, data, dtype, labels, tuple(name) if isinstance(name, list) else name)
    except Exception as e:
        raise ValueError("a series cannot be made: %s" % e) from None


def _are_texts(values: Any, count: int) -> bool:
    return isinstance(values, list) and len(values) in (0, count) and all(isinstance(v, str) for v in values)


def _check_column(column: Any, count: Optional[int]) -> None:
    if not isinstance(column, list) and len(getattr(column, "shape", ())) != 1 or len(column) != count:
        raise ValueError("a column of a frame must be a list or an array of one dimension, as long as the others")


def _read_index(content: Any, count: Optional[int]) -> Any:
    index, names = content.get("index"), content.get("names") or []
    if not isinstance(names, list):
        raise ValueError("the names of an index must be a list")
    for level in [] if index is None else index if len(names) > 1 and isinstance(index, list) else [index]:
        _check_column(level, count if count is not None else len(level) if hasattr(level, "__len__") else None)
    if len(names) > 1 and (not isinstance(index, list) or len(index) != len(names)):
        raise ValueError("an index of several levels needs a list for each of them")
    return index, names


def _pandas_index(pandas: Any, index: Any, names: List[Any], count: Optional[int]) -> Any:
    if index is None:
        return pandas.RangeIndex(count or 0, name=names[0] if names else None)
    if len(names) > 1:
        return pandas.MultiIndex.from_arrays(index, names=names)
    return pandas.Index(index, name=names[0] if names else None)


def _pandas_column(pandas: Any, data: Any, dtype: str, index: Any, name: Any = None) -> Any:
    zoned = _ZONED_DTYPE.fullmatch(dtype)
    if zoned and not isinstance(data, list):
        made = pandas.Series(data, index=index, name=name).dt.tz_localize("UTC")
        return made.dt.tz_convert(zoned[1]) if not zoned[1].startswith("dateutil") else made
    if isinstance(data, list):
        made = pandas.Series(data, index=index, name=name, dtype=object)
    else:
        made = pandas.Series(data, index=index, name=name)
    wanted = dtype if _PLAIN_DTYPE.fullmatch(dtype) and str(made.dtype) != dtype else ""
    return made.astype(wanted) if wanted else made
