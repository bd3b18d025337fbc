"""Limits of tokens: what is refused, with which words, and what stays of the use."""

import decimal
import random
import threading
import unittest

from harness import Clock

from seer_worker.policy.limits import Limits, Refused
from seer_worker.policy.limits_schema import compile as compile_schema


class TokenLimits(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = Clock(1_800_000_000.0)

    def limits(self, price: float = 0.0, use=None, **token) -> Limits:
        return Limits([{"id": "main"}, {"id": "t", **token}], price, use, self.clock)

    def refused(self, limits: Limits, function: str = "f", **arguments) -> str:
        with self.assertRaises(Refused) as caught:
            limits.begin("t", function, arguments)
        return str(caught.exception)

    def test_no_limits(self) -> None:
        limits = self.limits(calls=1)
        for _ in range(5):
            self.assertIsNone(limits.begin("main", "f", {}))
            limits.end("main", 2.0)
        self.assertEqual(limits.use()["main"], {"calls": 5, "seconds": 10.0, "spend_usd": 0.0, "refused": 0, "last_unix": self.clock.time})

    def test_functions(self) -> None:
        limits = self.limits(functions=["f", "g"])
        limits.begin("t", "f", {})
        self.assertEqual(self.refused(limits, "h"), "the token may call f, g, not h")
        self.assertTrue(limits.allows("t", "g") and limits.allows("main", "h") and limits.allows("t", "$handle.get"))
        self.assertFalse(limits.allows("t", "h"))
        limits.begin("t", "$handle.get", {})
        with self.assertRaises(Refused):
            limits.check("t", "h")
        self.assertEqual(limits.use()["t"]["refused"], 2)

    def test_calls(self) -> None:
        limits = self.limits(calls=2)
        for _ in range(2):
            limits.begin("t", "f", {})
        self.assertEqual(self.refused(limits), "the token's 2 calls have been made; none is left")

    def test_calls_at_once_are_never_too_many(self) -> None:
        limits, done, lock = self.limits(calls=500), [], threading.Lock()

        def work() -> None:
            for _ in range(200):
                try:
                    limits.begin("t", "f", {})
                except Refused:
                    continue
                with lock:
                    done.append(1)

        threads = [threading.Thread(target=work) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(done), 500)
        self.assertEqual((limits.use()["t"]["calls"], limits.use()["t"]["refused"]), (500, 500))

    def test_rate(self) -> None:
        limits = self.limits(rate=[2, 60])
        limits.begin("t", "f", {})
        limits.begin("t", "f", {})
        self.assertEqual(self.refused(limits), "the token may make 2 calls in 60 s; the next one in 30 s")
        self.clock.time += 20
        self.assertIn("the next one in 10 s", self.refused(limits))
        self.clock.time += 10.001
        limits.begin("t", "f", {})
        self.refused(limits)
        self.clock.time += 3600  # saved up to the whole, not more
        limits.begin("t", "f", {})
        limits.begin("t", "f", {})
        self.refused(limits)

    def test_rate_survives_other_new_limits(self) -> None:
        limits = self.limits(rate=[1, 60])
        limits.begin("t", "f", {})
        limits.replace([{"id": "t", "rate": [1, 60], "calls": 9}], 0.0)
        self.refused(limits)
        limits.replace([{"id": "t", "rate": [2, 60]}], 0.0)
        limits.begin("t", "f", {})

    def test_expiry(self) -> None:
        limits = self.limits(expires_unix=int(self.clock.time) + 10)
        limits.begin("t", "f", {})
        self.clock.time += 10
        self.assertIn("the token expired 0.001 s ago, at 2027-01-15 08:00:10 UTC", self.refused(limits))
        with self.assertRaises(Refused):
            limits.begin("t", "$handle.get", {})

    def test_spend(self) -> None:
        limits = self.limits(price=3.60, spend=0.01)  # a tenth of a cent for each second
        self.assertAlmostEqual(limits.begin("t", "f", {}), 10.0)
        self.clock.time += 4
        limits.end("t", 4.0)
        self.assertAlmostEqual(limits.begin("t", "f", {}), 6.0)
        self.clock.time += 2
        self.assertAlmostEqual(limits.begin("t", "f", {}), 2.0)  # two of them share what is left
        self.assertEqual(limits.overspent(), [])
        self.clock.time += 2.001
        self.assertEqual(limits.overspent(), ["t"])
        self.assertEqual(self.refused(limits), "the token's $0.01 have been spent; nothing is left")
        limits.end("t", 4.001)
        limits.end("t", 2.001)
        self.assertEqual(limits.overspent(), [])
        self.assertAlmostEqual(limits.use()["t"]["spend_usd"], 0.010002)

    def test_use_survives_the_worker(self) -> None:
        before = self.limits(price=3.60, calls=3)
        before.begin("t", "f", {})
        before.end("t", 5.0)
        use = before.use()
        use["t"] = {**use["t"], "seconds": 7.0, "unpriced": 2.0}  # as a journal tells of what came after its last count
        after = self.limits(price=3.60, use=use, calls=3, spend=0.01)
        self.assertEqual((after.use()["t"]["calls"], after.use()["t"]["seconds"], after.use()["t"]["spend_usd"]), (1, 7.0, 0.007))
        self.assertAlmostEqual(after.begin("t", "f", {}), 3.0)
        after.replace([], 3.60)
        self.assertEqual(after.use()["t"]["calls"], 2)

    def test_arguments(self) -> None:
        limits = self.limits(rate=[1, 60], arguments={"f": {"n": {"type": "integer", "minimum": 1, "maximum": 10},
                                                           "words": {"maxItems": 2, "items": {"enum": ["a", "b"]}}}})
        self.assertEqual(self.refused(limits, n=11), "with this token, the argument n of f must be at most 10")
        self.assertEqual(self.refused(limits, n="1"), "with this token, the argument n of f must be of type integer")
        self.assertEqual(self.refused(limits, n=1, words=["a", "c"]),
                         "with this token, the argument words of f must be one of ['a', 'b'] at [1]")
        limits.begin("t", "f", {"n": 1, "words": ["a"]})  # the refused ones took nothing from the rate
        limits.replace([{"id": "t", "arguments": {"g": {}}}], 0.0)
        limits.begin("t", "f", {"n": 100})

    def test_a_token_whose_limits_cannot_be_kept_opens_nothing(self) -> None:
        limits = self.limits(calls=1)
        for wrong in ({"arguments": {"f": {"x": {"format": "email"}}}}, {"arguments": {"f": {"x": {"pattern": "("}}}},
                      {"arguments": {"f": 7}}, {"rate": [0.5, 1]}, {"rate": ["many", 1]}):
            limits.replace([{"id": "t"}, {"id": "u", **wrong}], 0.0)
            limits.begin("t", "f", {})
            with self.assertRaises(Refused) as caught:
                limits.begin("u", "f", {"x": 1})
            self.assertIn("cannot be kept", str(caught.exception))
        limits.replace([{"id": "u"}], 0.0)
        limits.begin("u", "f", {"x": 1})

    def test_a_revoked_token_is_not_one_without_limits(self) -> None:
        limits = self.limits(functions=["f"])
        limits.replace([{"id": "main"}], 0.0)
        self.assertIn("revoked", self.refused(limits, "f"))
        with self.assertRaises(Refused):
            limits.check("t", "$handle.get")
        limits.begin("main", "f", {})

    def test_a_bound_is_kept_by_every_type(self) -> None:
        bounds = {"n": {"maximum": 10}, "word": {"maxLength": 3, "type": ["string", "null"]}, "all": {"items": {"maximum": 1}}}
        limits = self.limits(arguments={"f": bounds})
        fine = {"n": 1, "word": "a", "all": [1]}
        limits.begin("t", "f", fine)
        limits.begin("t", "f", {**fine, "word": None})
        odd = ["1000", [1000], None, True, 1e400, float("nan"), 10**30, decimal.Decimal("sNaN")]
        for name, value in [*(("n", v) for v in odd), ("word", ["abcd"]), ("word", b"abcd"), ("all", [[1000]]), ("all", {"a": 1000}),
                            ("all", "1000")]:
            self.assertIn("the argument %s of f" % name, self.refused(limits, **{**fine, name: value}))

    def test_a_bound_without_its_parameter_refuses(self) -> None:
        limits = self.limits(arguments={"f": {"steps": {"maximum": 10}}})
        self.assertIn("which has no such parameter", self.refused(limits, stepps=10**9))
        limits.begin("t", "f", {"kwargs": {}}, True)  # f(**kwargs) without it
        with self.assertRaises(Refused):
            limits.begin("t", "f", {"kwargs": {"steps": 11}, "steps": 11}, True)

    def test_the_end_of_a_pattern_is_the_end(self) -> None:
        limits = self.limits(arguments={"f": {"x": {"pattern": "^(a+$|[$]|\\\\$)$"}}})
        for good in ("aa", "$", "\\"):
            limits.begin("t", "f", {"x": good})
        for bad in ("aa\n", "aa\n; rm", "$\n", ""):
            self.refused(limits, x=bad)


class Schemas(unittest.TestCase):
    def check(self, schema, good, bad) -> None:
        test = compile_schema(schema)
        for value in good:
            self.assertIsNone(test(value), (schema, value))
        for value in bad:
            self.assertIsNotNone(test(value), (schema, value))

    def test_keywords(self) -> None:
        nan = float("nan")
        self.check({"type": "integer"}, [1, 2.0, -3, 10**30], [True, 1.5, "1", None, nan, float("inf"), [1]])
        self.check({"type": ["string", "null"]}, ["", None], [0, False, []])
        self.check({"type": "number"}, [1, 1.5, nan, decimal.Decimal("1.5")], [True, "1"])
        self.check({"type": "array"}, [[], (1,)], ["text", {}, 1])
        self.check({"type": "object"}, [{}], [[], 1])
        self.check({"type": "boolean"}, [True], [1, 0])
        self.check({"enum": [1, "a", None, [1, 2]]}, [1, 1.0, "a", None, [1, 2], (1, 2)], [True, "b", [1], [2, 1]])
        self.check({"const": {"a": [1]}}, [{"a": [1]}], [{"a": [True]}, {"a": [1], "b": 1}, []])
        self.check({"minimum": 1, "maximum": 2}, [1, 2, 1.5, "text"], [0, 2.001, nan, decimal.Decimal(3)])
        self.check({"exclusiveMinimum": 1, "exclusiveMaximum": 2}, [1.5], [1, 2, nan])
        self.check({"minLength": 1, "maxLength": 2}, ["a", "äö", 100], ["", "abc"])
        self.check({"pattern": "^a+$"}, ["aa", 1], ["", "ab"])
        self.check({"minItems": 1, "maxItems": 2}, [[1], "text"], [[], [1, 2, 3]])
        self.check({"items": {"items": {"maximum": 1}}}, [[[1], []], 7], [[[1], [2]]])

    def test_arrays_of_numpy(self) -> None:
        import numpy
        self.check({"type": "array", "maxItems": 2, "items": {"type": "integer", "maximum": 5}},
                   [numpy.array([1, 5])], [numpy.array([1, 6]), numpy.zeros(3, int), numpy.array([0.5]), numpy.array(3)])
        self.check({"type": "number", "maximum": 5}, [numpy.float32(5), numpy.array(5)], [numpy.float64(6), numpy.array(6)])
        self.check({"enum": [[1, 2]]}, [numpy.array([1, 2])], [numpy.array([1, 3]), numpy.array([[1, 2]])])

    def test_wrong_schemas(self) -> None:
        for schema in (1, [], {"type": "int"}, {"type": []}, {"enum": []}, {"minimum": "1"}, {"minimum": True}, {"minLength": -1},
                       {"maxItems": 1.5}, {"pattern": "("}, {"pattern": 1}, {"items": []}, {"items": {"x": 1}}, {"anyOf": []}):
            with self.assertRaises(ValueError, msg=repr(schema)):
                compile_schema(schema)

    def test_any_schema_and_any_value(self) -> None:
        """Nothing but ValueError for a schema, nothing but an answer for a value."""
        chance = random.Random(4)
        atoms = [None, True, 0, 1, -1, 1.5, float("nan"), "", "a", "(", "integer", [], {}, b"x", 10**400, object()]

        def any_value(depth: int = 0):
            if depth > 2 or chance.random() < 0.6:
                return chance.choice(atoms)
            if chance.random() < 0.5:
                return [any_value(depth + 1) for _ in range(chance.randrange(3))]
            return {chance.choice("ab"): any_value(depth + 1) for _ in range(chance.randrange(3))}

        words = ["type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxItems", "items", "pattern"]
        compiled = 0
        for _ in range(3000):
            schema = {chance.choice(words): any_value() for _ in range(chance.randrange(3))}
            if chance.random() < 0.3:
                schema = {"items": schema}
            try:
                test = compile_schema(schema)
            except ValueError:
                continue
            compiled += 1
            for _ in range(5):
                answer = test(any_value())
                self.assertTrue(answer is None or isinstance(answer, str))
        self.assertGreater(compiled, 500)


if __name__ == "__main__":
    unittest.main()
