import sys
import types
import unittest

from seer_worker.process.gpu_memory import NOTHING, GPUMemory, GPUUse


class FakeCUDA:
    """The counters of torch.cuda for two devices."""

    def __init__(self):
        self.now, self.most, self.ready = [0, 0], [0, 0], True

    def is_initialized(self):
        return self.ready

    def device_count(self):
        return 2

    def max_memory_allocated(self, device):
        return self.most[device]

    def reset_peak_memory_stats(self, device):
        self.most[device] = self.now[device]

    def allocate(self, device, n):
        self.now[device] += n
        self.most[device] = max(self.most[device], self.now[device])


class GPUMemoryTest(unittest.TestCase):
    def setUp(self):
        self.cuda, self.memory = FakeCUDA(), GPUMemory()
        before = sys.modules.get("torch")
        sys.modules["torch"] = types.SimpleNamespace(cuda=self.cuda)
        self.addCleanup(lambda: sys.modules.pop("torch") if before is None else sys.modules.__setitem__("torch", before))

    def used(self, id, *sizes):
        self.memory.begin(id)
        for size in sizes:
            self.cuda.allocate(0, size)
        return self.memory.end(id, 2.0)

    def test_each_call_has_its_own_peak(self):
        self.assertEqual(self.used("a", 100, -100), GPUUse(100, 2.0))
        self.assertEqual(self.used("b", 30, -10), GPUUse(30, 2.0))
        self.assertEqual(self.used("c"), GPUUse(20, 2.0))  # what b has left there, such as a model

    def test_calls_beside_each_other_have_the_peak_of_all(self):
        self.memory.begin("long")
        self.cuda.allocate(0, 50)
        self.assertEqual(self.used("short", 100, -100), GPUUse(150, 2.0))
        self.cuda.allocate(0, 20)
        self.assertEqual(self.used("later", 1), GPUUse(71, 2.0))
        self.assertEqual(self.memory.end("long", 4.0), GPUUse(150, 4.0))

    def test_two_gpus(self):
        self.memory.begin("a")
        self.cuda.allocate(0, 5)
        self.cuda.allocate(1, 7)
        self.assertEqual(self.memory.end("a", 3.0), GPUUse(12, 6.0))

    def test_torch_that_begins_during_the_call(self):
        self.cuda.ready = False
        self.memory.begin("a")
        self.cuda.ready = True
        self.cuda.allocate(1, 9)
        self.assertEqual(self.memory.end("a", 1.0), GPUUse(9, 1.0))

    def test_nothing(self):
        self.assertEqual(self.memory.end("unknown", 1.0), NOTHING)
        self.assertEqual(self.used("no memory"), NOTHING)
        for torch in (types.SimpleNamespace(), types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: 1 / 0))):
            sys.modules["torch"] = torch
            self.assertEqual(self.used("a", 1), NOTHING)


if __name__ == "__main__":
    unittest.main()
