"""Looks with the official Python client at a cache that Seer has filled, and completes it.

usage: seer.py EXPECTED CACHE-OF-SEER CACHE-OF-THE-CLIENT
"""
import filecmp
import json
import os
import sys

from huggingface_hub import scan_cache_dir, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import LocalEntryNotFoundError

EXPECTED, CACHE, OTHER = sys.argv[1:]
COMMIT, FIRST = os.environ["HUB_COMMIT"], os.environ["HUB_FIRST_COMMIT"]
OMITTED = ["*.bin", "onnx/*"]


def tree(cache):
    with open(os.path.join(cache, "models--org--model", "trees", COMMIT + ".json")) as f:
        files = json.load(f)["files"]
    return {name: {k: v for k, v in info.items() if k != "xet_hash"} for name, info in files.items()}


def same(folder, expected, names):
    found = sorted(os.path.relpath(os.path.join(at, n), folder) for at, _, all_ in os.walk(folder) for n in all_)
    assert found == sorted(names), found
    for name in names:
        assert filecmp.cmp(os.path.join(folder, name), os.path.join(EXPECTED, expected, name), shallow=False), name


def blobs():
    folder = os.path.join(CACHE, "models--org--model", "blobs")
    return {name: os.stat(os.path.join(folder, name)).st_ino for name in os.listdir(folder)}


info = scan_cache_dir(CACHE)
assert not info.warnings and not info.incomplete_files, info
repos = {(r.repo_type, r.repo_id): r for r in info.repos}
assert sorted(repos) == [("model", "org/model")], repos
refs = {r.commit_hash: sorted(r.refs) for r in repos["model", "org/model"].revisions}
assert refs == {COMMIT: ["main"], FIRST: ["v1"]}, refs

assert tree(CACHE) == tree(OTHER), (tree(CACHE), tree(OTHER))
wanted = [n for n in tree(CACHE) if not n.endswith(".bin") and not n.startswith("onnx/")]
found = try_to_load_from_cache("org/model", "model.safetensors", cache_dir=CACHE)
assert isinstance(found, str) and os.path.islink(found), found
assert try_to_load_from_cache("org/model", "pytorch_model.bin", cache_dir=CACHE) is None
folder = snapshot_download("org/model", cache_dir=CACHE, local_files_only=True, ignore_patterns=OMITTED)
same(folder, "org--model", wanted)
snapshot_download("org/model", revision="v1", cache_dir=CACHE, local_files_only=True)
try:
    snapshot_download("org/model", cache_dir=CACHE, local_files_only=True)
    raise AssertionError("what Seer has left out is not missed")
except LocalEntryNotFoundError:
    pass

before = blobs()
same(snapshot_download("org/model", cache_dir=CACHE), "org--model", tree(CACHE))
after = blobs()
assert len(after) == len(before) + 2, (before, after)
assert {name: after[name] for name in before} == before, "the client has downloaded again what Seer had"
