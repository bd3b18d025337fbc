"""Images of PIL and tables of pandas: there and back. scripts/setup installs both for the tests."""

import datetime
import math
import sys
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import pandas  # noqa: E402
import PIL.Image  # noqa: E402
from test_values import sent  # noqa: E402

from seer_worker import values  # noqa: E402


class Images(unittest.TestCase):
    def test_images(self) -> None:
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16", "F", "CMYK", "LAB"):
            image = PIL.Image.new(
                mode,
                (5, 3),
                1 if mode in ("1", "L", "P", "I", "I;16", "F") else tuple(range(7, 7 + len(PIL.Image.new(mode, (1, 1)).getbands()))),
            )
            got = sent([image])[0]
            self.assertEqual((got.size, got.mode, got.tobytes()), (image.size, image.mode, image.tobytes()), mode)
            self.assertEqual(sent(got).tobytes(), image.tobytes())
        self.assertEqual([sent(PIL.Image.new(mode, (2, 2))).mode for mode in ("HSV", "YCbCr")], ["RGB", "RGB"])


class Tables(unittest.TestCase):
    def test_tables(self) -> None:
        moment = pandas.Timestamp("2026-01-31 10:00", tz="Europe/Berlin")
        frame = pandas.DataFrame(
            {
                "i": np.arange(3),
                "f": np.array([0.5, math.nan, math.inf], "f4"),
                "s": ["x", None, "ä"],
                "b": [True, False, True],
                "when": pandas.date_range("2026-01-31", periods=3),
                "zoned": [moment] * 3,
                "kind": pandas.Categorical(["a", "b", "a"]),
                "some": pandas.array([1, None, 3], dtype="Int64"),
                "mixed": [1, "x", [2.5]],
            }
        )
        for one in (
            frame,
            frame.set_index("s"),
            frame.set_index(["i", "b"]),
            frame.iloc[:0].drop(columns="kind"),
            frame[["i", "i"]],
            frame.rename(columns={"i": 1}),
            frame.iloc[[2, 1]],
            pandas.concat({"a": frame[["i", "f"]], "b": frame[["b"]]}, axis=1),
            pandas.DataFrame(),
            pandas.DataFrame(index=[1, 2]),
        ):
            pandas.testing.assert_frame_equal(sent({"f": one})["f"], one, check_index_type=len(one) > 0, check_column_type=one.shape[1] > 0)
        for column in (*(frame[c] for c in frame), frame["f"].rename(("a", 1)), frame.set_index("s")["i"]):
            pandas.testing.assert_series_equal(sent(column), column)
        self.assertEqual(sent([pandas.NaT, pandas.NA, pandas.Index([1, 2]).tolist()]), [None, None, [1, 2]])
        self.assertEqual(sent([moment]), [datetime.datetime.fromisoformat("2026-01-31T10:00:00+01:00")])
        with self.assertRaisesRegex(values.Unserialisable, "which cannot be sent") as caught:
            values.encode({"t": pandas.DataFrame({"a": [1, object()]})})
        self.assertIn("""result["t"]['a'][1] is an object""", caught.exception.at("result"))


if __name__ == "__main__":
    unittest.main()
