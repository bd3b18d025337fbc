"""Patterns of bounds: the same answers as re, letters of ASCII, and a time that no text makes long."""

import random
import re
import unittest

from seer_worker.policy.limits_schema import compile as compile_schema
from seer_worker.policy.patterns import matcher


class Patterns(unittest.TestCase):
    def test_the_same_answers_as_re(self) -> None:
        chance = random.Random(7)
        pieces = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", "(a|b)", "(?:ab)", "(a|)", "^", "$", r"\b", r"\B", "a|b", r"\Z",
                  "é", "0"]
        tails = ["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"]
        compared = 0
        for _ in range(4000):
            chosen = [chance.choice(pieces) for _ in range(chance.randrange(1, 5))]
            repeated = [piece + (chance.choice(tails) if piece[-1] not in "^$bBZ" else "") for piece in chosen]
            pattern = chance.choice(["", "", "(?i)", "(?m)", "(?s)"]) + "".join(repeated)
            if chance.random() < 0.3:
                flags, rest = re.fullmatch(r"(\(\?[ims]\))?(.*)", pattern, re.DOTALL).groups()
                pattern = "%s(%s)%s" % (flags or "", rest, chance.choice(tails))
            try:
                wanted = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
            except re.error:
                continue
            found = matcher(pattern.replace("$", r"\Z"))
            for _ in range(5):
                text = "".join(chance.choice("abA0 \né٣") for _ in range(chance.randrange(6)))
                self.assertEqual(found(text), wanted.search(text) is not None, (pattern, text))
                compared += 1
        self.assertGreater(compared, 10_000)

    def test_digits_and_letters_of_ascii(self) -> None:
        digits, words = compile_schema({"pattern": r"^\d+$"}), compile_schema({"pattern": r"^\w+$"})
        self.assertIsNone(digits("123"))
        self.assertIsNotNone(digits("١٢٣"))
        self.assertIsNotNone(words("é"))
        self.assertIsNotNone(compile_schema({"pattern": "(?i)^k$"})("\u212a"))  # the sign for kelvin

    def test_no_text_takes_long(self) -> None:
        for pattern, text in ((r"^(a+)+$", "a" * 5000 + "b"), (r"^(a|a)*$", "a" * 5000 + "b"), (r"^(.*a){20}$", "a" * 5000 + "b"),
                              (r"a*a*a*a*a*b", "a" * 5000), (r"^(\w+\s?)*$", "word " * 1000 + "!"), (r"x{0,3000}y", "x" * 100_000)):
            self.assertIsNotNone(compile_schema({"pattern": pattern})(text), pattern)
        self.assertIn("too long", compile_schema({"pattern": "b$"})("a" * 10_000_000))

    def test_what_cannot_be_followed_is_refused(self) -> None:
        for pattern in (r"(?=a)b", r"(?!a)b", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(a)?(?(1)b|c)", "(?L)a", "(?u)a", "(a{1000}){1000}",
                        "((((a{0,99}){0,99}){0,99}){0,99}){0,99}", "(" * 300 + "a" + ")" * 300):
            with self.assertRaises(ValueError, msg=pattern):
                compile_schema({"pattern": pattern})


if __name__ == "__main__":
    unittest.main()
