"""Downloads from a fake Hub with the official Python client, and looks at bytes, cache and errors.

usage: client.py EXPECTED CACHE
"""
import filecmp
import hashlib
import json
import os
import sys

from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RevisionNotFoundError,
)

EXPECTED, CACHE = sys.argv[1:]
COMMIT, FIRST = os.environ["HUB_COMMIT"], os.environ["HUB_FIRST_COMMIT"]


def files(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def same(folder, expected):
    expected = os.path.join(EXPECTED, expected)
    assert files(folder) == files(expected), (files(folder), files(expected))
    for name in files(expected):
        assert filecmp.cmp(os.path.join(folder, name), os.path.join(expected, name), shallow=False), name


def look_at_cache():
    """The layout that other programs rely on: refs, relative links, names of blobs."""
    home = os.path.join(CACHE, "models--org--model")
    with open(os.path.join(home, "refs", "main")) as f:
        assert f.read() == COMMIT
    with open(os.path.join(home, "trees", COMMIT + ".json")) as f:
        tree = json.load(f)["files"]
    snapshot = os.path.join(home, "snapshots", COMMIT)
    for name in files(snapshot):
        target = os.readlink(os.path.join(snapshot, name))
        assert not os.path.isabs(target), target
        with open(os.path.join(snapshot, name), "rb") as f:
            data = f.read()
        if "lfs_sha256" in tree[name] and tree[name]["lfs_sha256"]:
            digest = hashlib.sha256(data).hexdigest()
            assert digest == tree[name]["lfs_sha256"], name
        else:
            digest = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            assert digest == tree[name]["blob_id"], name
        assert os.path.basename(target) == digest, (target, digest)


def refused(kind, status, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except (HfHubHTTPError, LocalEntryNotFoundError) as e:
        cause = e.__cause__ if isinstance(e, LocalEntryNotFoundError) else e  # it has looked into the cache then
        assert isinstance(cause, kind) and cause.response.status_code == status, repr(cause)
        return
    raise AssertionError((call, args, kwargs))


def look_at_errors():
    empty = CACHE + "-empty"  # what is in a cache is found there without the right to fetch it

    def download(repo, token=False, **more):
        return hf_hub_download(repo, "config.json", cache_dir=empty, token=token, **more)

    refused(GatedRepoError, 401, download, "org/gated")
    refused(GatedRepoError, 403, download, "org/gated", "hf_bob")
    refused(GatedRepoError, 401, snapshot_download, "org/gated", cache_dir=empty, token=False)
    refused(DisabledRepoError, 403, download, "org/disabled")
    refused(HfHubHTTPError, 401, download, "org/private")
    refused(HfHubHTTPError, 404, download, "org/private", "hf_bob")
    refused(RevisionNotFoundError, 404, download, "org/model", revision="v9")
    refused(EntryNotFoundError, 404, hf_hub_download, "org/model", "none.json", cache_dir=empty)
    refused(HfHubHTTPError, 401, HfApi(token="hf_wrong").whoami)
    with open(download("org/private", "hf_alice")) as f:
        assert "gpt2" in f.read()


def look_at_api():
    api = HfApi(token="hf_bob")
    assert api.whoami()["name"] == "bob"
    info = api.model_info("org/model", files_metadata=True)
    assert info.sha == COMMIT and not info.private and info.gated is False
    assert {s.rfilename: s.size for s in info.siblings}["model.safetensors"] == 20_000_000
    assert api.model_info("org/model", expand=["sha"]).sha == COMMIT
    refs = api.list_repo_refs("org/model", include_pull_requests=True)
    assert [(r.name, r.target_commit) for r in refs.tags + refs.pull_requests] == [("v1", FIRST), ("refs/pr/1", FIRST)]
    found = api.get_paths_info("org/model", ["config.json", "onnx", "none"], expand=True)
    assert [type(f).__name__ for f in found] == ["RepoFile", "RepoFolder"] and found[0].last_commit.oid == COMMIT
    assert [e.path for e in api.list_repo_tree("org/model", "onnx")] == ["onnx/deep"]
    api.auth_check("org/model")
    refused(GatedRepoError, 403, api.auth_check, "org/gated")


def look_at_hashes():
    """The hashes of the fake are those that the official client computes."""
    import hf_xet

    names = [n for n in files(os.path.join(EXPECTED, "org--model")) if n.endswith(".safetensors")]
    made = hf_xet.hash_files([os.path.join(EXPECTED, "org--model", n) for n in names])
    told = HfApi(token=False).get_paths_info("org/model", names)
    assert {f.path: f.xet_hash for f in told} == dict(zip(names, [m.hash for m in made])), (told, made)


same(snapshot_download("org/model", cache_dir=CACHE, token="hf_bob"), "org--model")
look_at_cache()
same(snapshot_download("org/old", cache_dir=CACHE, token=False), "org--old")
same(snapshot_download("legacy", cache_dir=CACHE, token=False), "legacy")
same(snapshot_download("org/gated", cache_dir=CACHE, token="hf_alice"), "org--gated")
same(snapshot_download("org/faulty", cache_dir=CACHE), "org--faulty")  # limited and cut at first
same(snapshot_download("org/data", repo_type="dataset", cache_dir=CACHE), "org--data")
for revision in "v1", "refs/pr/1", FIRST:
    with open(hf_hub_download("org/model", "config.json", revision=revision, cache_dir=CACHE)) as f:
        assert f.read() == "{}", revision
look_at_errors()
if not constants.HF_HUB_DISABLE_XET:
    look_at_api()
    look_at_hashes()
