"""Checks the committed model, the interface and the agent's tools.

/usr/bin/python3 -m unittest -v        (in this folder; needs NumPy)
"""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import train  # noqa: E402  (first: it sets how NumPy counts)
from training import card, data, measure, network, safetensors  # noqa: E402

MODEL = HERE / "model"


def load_interface(model: Path = MODEL) -> types.SimpleNamespace:
    """Runs interface.py as Seer does: three names are there, nothing else."""
    exposed = {}

    def expose(function):
        exposed[function.__name__] = function
        return function

    loaded = runpy.run_path(
        str(HERE / "interface.py"),
        init_globals={
            "expose": expose,
            "get_model_path": {"./model": str(model)}.__getitem__,
            "list_configured_models": lambda: ["./model"],
        },
    )
    return types.SimpleNamespace(
        weights=loaded["weights"],
        exposed=exposed,
        tools=types.SimpleNamespace(**exposed),
    )


INTERFACE = load_interface()
TOOLS = INTERFACE.tools


class TestCommittedModel(unittest.TestCase):
    def setUp(self):
        self.figures = json.loads((MODEL / "figures.json").read_text())
        self.config = json.loads((MODEL / "config.json").read_text())

    def test_weights_give_the_figures(self):
        measured = measure.figures(INTERFACE.weights, train.SHAPE)
        self.assert_close(measured, self.figures)

    def test_card_says_what_was_measured(self):
        said = (MODEL / "MODEL_CARD.md").read_text()
        self.assertEqual(said, card.render(self.config, self.figures))

    def test_circuit_is_there(self):
        heads = self.figures["each_head"]
        last = [head for head in heads if head["layer"] == 1]
        found = max(last, key=lambda head: head["induction"])
        self.assertGreater(self.figures["loss"]["accuracy_copied"], 0.99)
        self.assertLess(self.figures["accuracy_without_repeats"], 0.02)
        self.assertGreater(found["induction"], 0.8)
        self.assertLess(found["ablated"]["accuracy_copied"], 0.1)
        for head in last:
            if head is not found:
                self.assertGreater(head["ablated"]["accuracy_copied"], 0.99)

    def test_is_small(self):
        self.assertLess((MODEL / "model.safetensors").stat().st_size, 1 << 20)

    def assert_close(self, got, want, at="figures"):
        if isinstance(want, dict):
            self.assertEqual(set(got), set(want), at)
            for key in want:
                self.assert_close(got[key], want[key], f"{at}.{key}")
        elif isinstance(want, list):
            self.assertEqual(len(got), len(want), at)
            for index, pair in enumerate(zip(got, want)):
                self.assert_close(*pair, f"{at}.{index}")
        else:
            self.assertAlmostEqual(got, want, delta=2e-3, msg=at)


class TestTraining(unittest.TestCase):
    SHAPE = network.Shape(
        vocabulary=64, context=64, layers=2, heads=4, width=64, head_width=32
    )

    def test_gradient(self):
        shape = network.Shape(
            vocabulary=11, context=7, layers=2, heads=2, width=6, head_width=3
        )
        rng = np.random.default_rng(0)
        weights = {
            name: weight.astype(np.float64)
            for name, weight in network.initial(shape, rng).items()
        }
        tokens = rng.integers(0, 11, (3, 7))
        _, gradient = network.loss_and_gradient(weights, shape, tokens)
        for name in weights:
            place = np.unravel_index(
                np.abs(gradient[name]).argmax(), gradient[name].shape
            )
            slope = self.slope(weights, name, place, shape, tokens)
            self.assertAlmostEqual(gradient[name][place], slope, places=6, msg=name)

    def slope(self, weights, name, place, shape, tokens, step=1e-6):
        losses = []
        for change in (step, -2 * step):
            weights[name][place] += change
            losses.append(network.loss_and_gradient(weights, shape, tokens)[0])
        weights[name][place] += step
        return (losses[0] - losses[1]) / (2 * step)

    def test_same_seed_gives_the_same_bytes(self):
        one, two = (
            train.train(self.SHAPE, seed=3, steps=20, batch=8)[0] for _ in range(2)
        )
        for name, weight in one.items():
            self.assertEqual(weight.tobytes(), two[name].tobytes(), name)

    def test_another_seed_is_another_model(self):
        one, _ = train.train(self.SHAPE, seed=1, steps=1, batch=2)
        two, _ = train.train(self.SHAPE, seed=2, steps=1, batch=2)
        self.assertFalse(np.array_equal(one["embed"], two["embed"]))

    def test_copies_are_copies(self):
        batch = data.repeated_segments(np.random.default_rng(5), 50, 64, 128)
        for words, copied in zip(batch.tokens.tolist(), batch.copied.tolist()):
            for position in range(1, 64):
                if not copied[position]:
                    continue
                followers = {
                    words[i + 1]
                    for i in range(1, position - 1)
                    if words[i] == words[position - 1]
                }
                self.assertIn(words[position], followers, (words, position))
        self.assertGreater(batch.copied.mean(), 0.3)


class TestInterface(unittest.TestCase):
    TEXT = "fox river oak lemon moss fox river oak"

    def test_exposes_what_it_should(self):
        self.assertEqual(
            list(INTERFACE.exposed),
            [
                "get_model_info",
                "predict",
                "continue_text",
                "loss_by_position",
                "attention_patterns",
                "activations",
                "logit_lens",
            ],
        )
        for function in INTERFACE.exposed.values():
            self.assertTrue(function.__doc__)
            self.assertIn("return", function.__annotations__)

    def test_results_are_json_or_arrays(self):
        for result in (TOOLS.get_model_info(), TOOLS.predict(self.TEXT)):
            self.assertEqual(json.loads(json.dumps(result, allow_nan=False)), result)
        for result, shape in (
            (TOOLS.loss_by_position(self.TEXT)["correct"], (8,)),
            (TOOLS.loss_by_position(self.TEXT)["loss"], (8,)),
            (TOOLS.attention_patterns(self.TEXT), (2, 4, 9, 9)),
            (TOOLS.activations(self.TEXT, 0), (9, 64)),
        ):
            self.assertEqual((type(result), result.shape), (np.ndarray, shape))

    def test_writes_on(self):
        words = TOOLS.continue_text(self.TEXT, words=3)
        self.assertEqual(next(words), TOOLS.predict(self.TEXT)[0]["word"])
        self.assertEqual(list(words), ["moss", "fox"])
        whole = TOOLS.continue_text([0] * 64, words=2)  # the beginning is dropped
        self.assertEqual(len(list(whole)), 2)

    def test_logit_lens_at_the_end_is_the_prediction(self):
        stream = TOOLS.activations(self.TEXT, 2)
        guesses = TOOLS.loss_by_position(self.TEXT)["predicted"]
        self.assertEqual(TOOLS.logit_lens(stream)[:-1], guesses)
        self.assertEqual(TOOLS.logit_lens(stream[-1:]), ["lemon"])

    def test_agrees_with_the_network_that_was_trained(self):
        tokens = data.repeated_segments(np.random.default_rng(1), 1, 64, 128).tokens
        logits, layers, last = network.forward(INTERFACE.weights, train.SHAPE, tokens)
        ids = tokens[0].tolist()
        patterns = TOOLS.attention_patterns(ids)
        for layer in range(2):
            self.assert_near(patterns[layer], layers[layer].pattern[0])
        self.assert_near(TOOLS.activations(ids, 2), last[0])
        losses = network.cross_entropy_each(logits[:, :-1], tokens[:, 1:])
        self.assert_near(TOOLS.loss_by_position(ids)["loss"], losses[0])

    def test_ablation_is_for_one_call(self):
        tokens = data.repeated_segments(np.random.default_rng(1), 1, 64, 128).tokens
        ids, before = tokens[0].tolist(), TOOLS.activations(tokens[0].tolist(), 2)
        for heads in ([], [[0, 3]], [[1, 1]], [[0, 0], [0, 2], [1, 3]]):
            weights = INTERFACE.weights
            for layer, head in heads:
                weights = measure.ablated(weights, train.SHAPE, layer, head)
            _, _, last = network.forward(weights, train.SHAPE, tokens)
            self.assert_near(TOOLS.activations(ids, 2, ablate=heads), last[0])
        np.testing.assert_array_equal(TOOLS.activations(ids, 2), before)

    def test_text_and_ids_are_the_same(self):
        vocabulary = TOOLS.get_model_info()["vocabulary"]
        ids = [0] + [vocabulary.index(word) for word in self.TEXT.split()]
        self.assertEqual(TOOLS.predict(self.TEXT), TOOLS.predict(ids))
        self.assertEqual(TOOLS.predict("<bos> " + self.TEXT), TOOLS.predict(ids))
        self.assertEqual(TOOLS.predict(self.TEXT, top_k=1)[0]["word"], "lemon")

    def test_bad_input_says_what_is_wrong(self):
        for call, message in (
            (lambda: TOOLS.predict("fox cat"), "not in the vocabulary: cat"),
            (
                lambda: TOOLS.predict([128]),
                "token id must be a whole number from 0 to 127",
            ),
            (lambda: TOOLS.predict([0] * 65), "reads 1 to 64 tokens, and these are 65"),
            (lambda: TOOLS.predict([]), "these are 0"),
            (lambda: TOOLS.predict("fox", top_k=0), "top_k must be from 1 to 128"),
            (lambda: TOOLS.predict("fox", ablate=[[1]]), "[layer, head] pairs"),
            (lambda: TOOLS.predict("fox", ablate=[[2, 0]]), "layer must be"),
            (lambda: TOOLS.attention_patterns("fox", ablate=[[0, 4]]), "head must be"),
            (lambda: TOOLS.logit_lens(np.zeros(64)), "the shape (T, 64), not (64,)"),
            (lambda: TOOLS.activations("fox", 3), "layer must be"),
            (lambda: TOOLS.activations("fox", True), "layer must be"),
            (lambda: TOOLS.loss_by_position([0]), "at least two tokens"),
        ):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertIn(message, str(caught.exception))

    def assert_near(self, got, want):
        np.testing.assert_allclose(got, want, atol=2e-4)


class TestFiles(unittest.TestCase):
    def test_what_is_written_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder)
            for name in ("config.json", "vocab.txt"):
                (model / name).write_bytes((MODEL / name).read_bytes())
            safetensors.save(model / "model.safetensors", INTERFACE.weights)
            self.assertEqual(
                (model / "model.safetensors").read_bytes(),
                (MODEL / "model.safetensors").read_bytes(),
            )
            self.assertEqual(
                load_interface(model).tools.predict("fox"), TOOLS.predict("fox")
            )

    def test_trainer_says_how_it_is_used(self):
        done = subprocess.run(
            [sys.executable, "train.py", "--help"],
            cwd=HERE,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("--seed", done.stdout)


class TestAgent(unittest.TestCase):
    def test_finds_the_head_and_writes_a_report(self):
        model_tools = types.ModuleType("model_tools")
        vars(model_tools).update(INTERFACE.exposed)
        output = io.StringIO()
        modules = mock.patch.dict(sys.modules, {"model_tools": model_tools})
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with modules, contextlib.redirect_stdout(output):
                runpy.run_path(str(HERE / "agent.py"), run_name="__main__")
            report = Path(folder, "outputs/report.md").read_text()
            picture = Path(folder, "outputs/induction-head.svg").read_text()
            os.chdir(HERE)
        self.assertIn("Head 1.1 is the induction head.", output.getvalue())
        self.assertIn("| **1.1** |", report)
        self.assertIn("](induction-head.svg)", report)
        ElementTree.fromstring(picture)


if __name__ == "__main__":
    unittest.main()
