"""Trains for a while, which takes most of a minute without a fast BLAS.

/usr/bin/python3 -m unittest -v test_training        (in this folder; needs NumPy)
"""

import unittest  # noqa: I001

import train  # first: it sets how NumPy counts
import numpy as np
import test_model

SHAPE = test_model.TestTraining.SHAPE


class TestShortRun(unittest.TestCase):
    def test_short_run_learns_from_context(self):
        _, losses = train.train(SHAPE, seed=3, steps=600, batch=8)
        guessing = np.log(SHAPE.vocabulary - 1)  # the best without looking back
        self.assertLess(np.mean(losses[-20:]), guessing - 0.1)
