"""Handles of tensors, frames and images. What is not installed here has no test here."""

import importlib
import unittest
from typing import Any

import numpy

from seer_worker.handles import steps
from seer_worker.handles.handles import Handles, size_of


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, pandas, image = module("torch"), module("pandas"), module("PIL.Image")


class Tensors(unittest.TestCase):
    devices = ["cpu"] + (["cuda"] if torch is not None and torch.cuda.is_available() else [])

    def test_facts(self) -> None:
        for device in self.devices:
            values = torch.tensor([[1.0, float("nan")], [3.0, 5.0]], device=device)
            for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
                handles = Handles()
                info = handles.keep(values.to(dtype), "main")
                self.assertEqual((info["kind"], info["shape"], info["dtype"]), ("tensor", [2, 2], str(dtype)[6:]))
                self.assertEqual(info["device"].split(":")[0], device)
                rounded = {k: round(v, 6) for k, v in info["stats"].items()}
                self.assertEqual(rounded, {"min": 1, "max": 5, "mean": 3, "std": 1.632993, "nan": 1})
                self.assertIn("5.", info["preview"])

    def test_stats_like_those_of_arrays(self) -> None:
        for device in self.devices:
            for dtype in (torch.bool, torch.uint8, torch.int64, torch.float32):
                tensor = (torch.arange(120).reshape(4, 5, 6) % 7).to(dtype).to(device)
                for one in (tensor, tensor.transpose(0, 2), tensor[:, ::2], tensor[0, 0, 0], tensor[:0]):
                    found = Handles().keep(one, "main")["stats"]
                    wanted = Handles().keep(one.cpu().numpy(), "main")["stats"]
                    self.assertEqual(found.keys(), wanted.keys())
                    for name in wanted:
                        self.assertAlmostEqual(found[name], wanted[name])
            self.assertNotIn("stats", Handles().keep(torch.zeros(3, dtype=torch.complex64, device=device), "main"))

    def test_large_ones_in_pieces(self) -> None:
        for device in self.devices:
            tensor = torch.arange(3 << 21, device=device, dtype=torch.float32).reshape(3, -1)
            for one in (tensor, tensor.t()):
                stats = Handles().keep(one, "main")["stats"]
                self.assertAlmostEqual(stats["mean"], ((3 << 21) - 1) / 2)
                self.assertEqual((stats["min"], stats["max"]), (0, (3 << 21) - 1))

    def test_steps_like_those_of_arrays(self) -> None:
        array = numpy.random.default_rng(3).permutation(60).reshape(3, 4, 5).astype("f8")
        keys = [1, {"slice": [1, None]}, "...", None, [2, 0], [True, False, True], [],
                {"at": [{"slice": [1, 3]}, [0, 2]]}, {"at": ["...", 0]}]
        all_steps = [["index", k] for k in keys] + [["astype", "int32"], ["reshape", [6, -1]], ["transpose", [2, 0, 1]], ["transpose"]]
        all_steps.append(["head", 2])
        for name in steps.REDUCTIONS:
            all_steps += [["reduce", name], ["reduce", name, {"axis": 1}], ["reduce", name, {"axis": -1, "keepdims": True}]]
        all_steps += [["reduce", n, {"axis": [0, 2]}] for n in ("sum", "mean", "std", "min", "norm", "any")]
        for device in self.devices:
            tensor = torch.from_numpy(array).to(device)
            for step in all_steps:
                got = steps.apply(tensor, [step])
                self.assertEqual(got.device.type, device)
                numpy.testing.assert_allclose(got.cpu().numpy(), steps.apply(array, [step]), err_msg=repr(step))
            for found, wanted in zip(steps.apply(tensor, [["topk", 2]]), steps.apply(array, [["topk", 2]])):
                numpy.testing.assert_array_equal(found.cpu().numpy(), wanted)
            for name in steps.REDUCTIONS:
                alone = steps.apply(tensor[0, 0, 0], [["reduce", name]]).cpu().numpy()
                numpy.testing.assert_allclose(alone, steps.apply(array[0, 0, 0], [["reduce", name]]), err_msg=name)
                steps.apply(tensor.to(torch.int32), [["reduce", name]])
                steps.apply(tensor > 7, [["reduce", name]]) if name not in ("argmin", "argmax") else None
            with self.assertRaises(steps.StepError):
                steps.apply(tensor, [["index", {"slice": [None, None, -1]}]])  # torch has none

    def test_what_is_different(self) -> None:
        grad = torch.ones(3, requires_grad=True)
        self.assertEqual(Handles().keep(grad, "main")["stats"]["mean"], 1)
        self.assertEqual(Handles().keep(torch.empty(3, device="meta"), "main")["device"], "meta")
        self.assertEqual(Handles().keep(torch.eye(3).to_sparse(), "main")["shape"], [3, 3])
        self.assertEqual(size_of(torch.nn.Linear(10, 10)), 440)


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.frame = pandas.DataFrame({"n": [3, 1, 2], "x": [0.5, 1.5, numpy.nan], "s": ["a", "b", "c"]}) if pandas else None

    def test_facts(self) -> None:
        info = Handles().keep(self.frame, "main")
        self.assertEqual((info["kind"], info["shape"], info["type"]), ("frame", [3, 3], "pandas.core.frame.DataFrame"))
        self.assertIn("1.5", info["preview"])
        series = Handles().keep(self.frame["x"], "main")
        self.assertEqual((series["dtype"], series["stats"]["max"], series["stats"]["nan"]), ("float64", 1.5, 1))
        self.assertGreater(size_of(self.frame), 50)

    def test_steps(self) -> None:
        def of(*given: Any) -> Any:
            return steps.apply(self.frame, given)

        self.assertEqual(of(["index", "n"]).tolist(), [3, 1, 2])
        self.assertEqual(of(["index", ["n", "s"]]).shape, (3, 2))
        self.assertEqual(of(["index", 1])["s"], "b")
        self.assertEqual(of(["index", {"slice": [1, None]}]).shape, (2, 3))
        self.assertEqual(of(["index", [True, False, True]]).shape, (2, 3))
        self.assertEqual(of(["index", {"at": [[0, 2], "n"]}]).tolist(), [3, 2])
        self.assertEqual(of(["index", {"at": ["...", 0]}]).tolist(), [3, 1, 2])
        self.assertEqual(of(["reduce", "mean"]).to_dict(), {"n": 2.0, "x": 1.0})
        self.assertAlmostEqual(of(["index", "n"], ["reduce", "std"]), numpy.std([1, 2, 3]))
        self.assertEqual(of(["index", "n"], ["reduce", "argmax"]), 0)
        self.assertEqual(of(["index", ["n"]], ["reduce", "argmin"]).to_dict(), {"n": 1})
        self.assertEqual(of(["head", 1]).shape, (1, 3))
        self.assertEqual(of(["transpose"]).shape, (3, 3))
        self.assertEqual(of(["index", "n"], ["astype", "float32"]).dtype, "float32")
        self.assertEqual(of(["index", "n"], ["topk", 2])[1].tolist(), [0, 2])
        with self.assertRaises(steps.StepError):
            of(["index", "missing"])


class Images(unittest.TestCase):
    def test_facts_and_steps(self) -> None:
        picture = image.new("RGB", (4, 3), (10, 20, 30))
        info = Handles().keep(picture, "main")
        self.assertEqual((info["kind"], info["shape"], info["bytes"], info["preview"]), ("image", [3, 4, 3], 36, "4 × 3, RGB"))
        self.assertEqual(steps.apply(picture, [["index", {"at": ["...", 1]}], ["reduce", "mean"]]), 20)


if torch is None:
    del Tensors
if pandas is None:
    del Frames
if image is None:
    del Images

if __name__ == "__main__":
    unittest.main()
