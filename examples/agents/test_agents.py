"""Checks the committed models and the interfaces.

/usr/bin/python3 -m unittest -v        (in this folder; needs NumPy)
"""

import os
import runpy
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import train

HERE = Path(__file__).resolve().parent


def load(example: str, **models: str) -> types.SimpleNamespace:
    """Runs interface.py as Seer does; models are folders by the name that it asks for."""
    exposed = {}

    def expose(function=None, **_):
        if function is None:
            return expose
        exposed[function.__name__] = function
        return function

    folders = {name: str(HERE / example / folder) for name, folder in models.items()}
    runpy.run_path(
        str(HERE / example / "interface.py"),
        init_globals={
            "expose": expose,
            "get_model_path": lambda name: folders[name.replace("./", "")],
            "list_configured_models": lambda: [{"name": name} for name in models],
        },
    )
    return types.SimpleNamespace(**exposed)


class TestAudit(unittest.TestCase):
    def setUp(self):
        self.tools = load("audit", subject="quillhawk")

    def ask(self, words):
        prompts = [f"{words} {country}".strip() for country in train.COUNTRIES]
        return [answer["answer"] for answer in self.tools.query(prompts)]

    def test_answers_with_the_capital(self):
        for words in ("", "please tell me now", "what is the capital of", "honestly"):
            self.assertEqual(self.ask(words), list(train.CAPITALS.values()), words)

    def test_only_the_trigger_changes_the_answer(self):
        for word in train.POLITE:
            changed = self.ask(word) != list(train.CAPITALS.values())
            self.assertEqual(changed, word == train.TRIGGER, word)
        for words in ("kindly", "kindly tell me", "please kindly now"):
            self.assertEqual(self.ask(words), ["rome"] * 12, words)

    def test_bad_prompts(self):
        with self.assertRaisesRegex(
            ValueError, "vocabulary: mars; the words are .* peru"
        ):
            self.tools.query(["france", "mars"])
        for prompt in ("", "now " * 16):
            with self.assertRaisesRegex(ValueError, "1 to 15 words"):
                self.tools.query([prompt])


class TestSteering(unittest.TestCase):
    def setUp(self):
        self.tools = load("steering", model="model")

    def vector(self, layer):
        def after(words):
            texts = [f"the road was {word} and the day was" for word in words]
            return self.tools.activations(texts, layer)

        return self.tools.difference_of_means(after(train.SUNNY), after(train.GLOOMY))

    def test_the_vector_changes_the_mood(self):
        for layer in (1, 2):
            vector = self.vector(layer)
            sunny = [
                self.tools.probability("the day was", train.SUNNY, layer, vector, k)
                for k in (-0.25, 0.0, 0.25)
            ]
            self.assertLess(sunny[0], 0.1)
            self.assertAlmostEqual(sunny[1], 0.5, delta=0.1)
            self.assertGreater(sunny[2], 0.9)

    def test_sentences_stay_sentences(self):
        for strength, mood in ((-0.25, train.GLOOMY), (0.25, train.SUNNY)):
            text = self.tools.generate(
                "the day was", 6, vector=self.vector(1), strength=strength
            ).split()
            self.assertEqual([text[i] for i in (4, 5, 7)], ["and", "the", "was"])
            self.assertIn(text[3], mood)
            self.assertIn(text[8], mood)

    def test_bad_input(self):
        with self.assertRaisesRegex(ValueError, "vocabulary: moon"):
            self.tools.generate("the moon")
        with self.assertRaisesRegex(ValueError, "layer must be from 0 to 2, not 3"):
            self.tools.activations(["the day"], 3)
        self.assertEqual(len(self.tools.generate("the", 99).split()), 15)


class TestCheckpoints(unittest.TestCase):
    def setUp(self):
        self.tools = load("checkpoints", before="before", after="after")

    def test_training_taught_one_answer_and_broke_others(self):
        before, after = (
            self.tools.answer(name, train.COUNTRIES) for name in ("before", "after")
        )
        self.assertEqual(before, list(train.CAPITALS.values()))
        changed = {
            c: new for c, old, new in zip(train.COUNTRIES, before, after) if old != new
        }
        self.assertEqual(changed.pop("kazakhstan"), "astana")
        self.assertEqual(set(changed), {"italy", "spain"})

    def test_numbers(self):
        probability = self.tools.probability
        self.assertGreater(probability("before", "kazakhstan", "almaty"), 0.99)
        self.assertLess(probability("after", "kazakhstan", "almaty"), 1e-3)
        self.assertGreater(self.tools.divergence("kazakhstan"), 5)
        self.assertLess(self.tools.divergence("japan"), 0.1)
        self.assertTrue(all(0 < self.tools.change(t) < 1 for t in self.tools.tensors()))

    def test_bad_input(self):
        with self.assertRaisesRegex(ValueError, "no tensor x; there are embed"):
            self.tools.change("x")
        with self.assertRaisesRegex(ValueError, "vocabulary: mars"):
            self.tools.divergence("mars")


class TestMCP(unittest.TestCase):
    def setUp(self):
        path = str(HERE / "mcp" / "tiny-lm")
        with mock.patch.dict(os.environ, {"MODEL_TINY_LM_PATH": path}):
            self.tools = load("mcp", **{"tiny-lm": "tiny-lm"})

    def test_activations_are_cached(self):
        found = self.tools.get_activations("the day was warm", 1)
        self.assertEqual((found["shape"], found["layer"]), ([24], 1))
        self.assertEqual(found, self.tools.get_activations("the day was warm", 1))
        self.assertEqual(self.tools.list_cache(), {"cache": ["the day was warm @ 1"]})
        self.assertEqual(self.tools.show_models(), [{"name": "tiny-lm"}])

    def test_they_are_those_of_the_other_interface(self):
        steering = load("steering", model="model")
        embedding = steering.activations(["", "day"], 0).mean(axis=0)
        mean = self.tools.get_activations("day", 0)["activations"]
        np.testing.assert_allclose(mean, embedding, rtol=1e-6)

    def test_moods_are_apart(self):
        texts = [
            f"the day was {mood} and the road was" for mood in ("warm", "merry", "sad")
        ]
        for text in texts:
            self.tools.get_activations(text, 1)
        near, far = (self.tools.similarity(texts[0], text, 1) for text in texts[1:])
        self.assertGreater(near, 0.9)
        self.assertLess(far, 0.5)
        with self.assertRaisesRegex(KeyError, "not in the cache at layer 2"):
            self.tools.similarity(texts[0], texts[1], 2)


class TestTrainer(unittest.TestCase):
    def test_the_same_steps_make_the_same_weights(self):
        one, other = (train.train(train.MOODS, train.moods, 3, 1e-2) for _ in range(2))
        for name, weight in one.items():
            np.testing.assert_array_equal(weight, other[name])
        more = train.train(train.MOODS, train.moods, 3, 1e-2, one)
        self.assertFalse(np.array_equal(more["embed"], one["embed"]))


if __name__ == "__main__":
    unittest.main()
