// Downloads from a fake Hub with the official JavaScript client.
// usage: HUB_JS=FOLDER client.mjs CACHE; prints the folder of the snapshot.
import { createRequire } from "node:module";
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import path from "node:path";

const entry = createRequire(path.join(process.env.HUB_JS, "none.js")).resolve("@huggingface/hub");
const { HubApiError, downloadFile, snapshotDownload, whoAmI } = await import(pathToFileURL(entry));
const hubUrl = process.env.HF_ENDPOINT;
const cacheDir = process.argv[2];

const user = await whoAmI({ accessToken: "hf_bob", hubUrl });
assert.equal(user.name, "bob");
const snapshot = await snapshotDownload({ repo: "org/model", accessToken: "hf_bob", hubUrl, cacheDir });
await snapshotDownload({ repo: "org/old", hubUrl, cacheDir });
for (const [accessToken, status] of [[undefined, 401], ["hf_bob", 403]]) {
  await assert.rejects(snapshotDownload({ repo: "org/gated", accessToken, hubUrl, cacheDir }), (e) => {
    assert(e instanceof HubApiError && e.statusCode === status, e);
    return true;
  });
}
assert.equal(await downloadFile({ repo: "org/model", path: "none.json", hubUrl }), null);
const part = await downloadFile({ repo: "org/model", path: "again.safetensors", hubUrl });
assert.equal((await part.slice(999_990, 1_700_000).arrayBuffer()).byteLength, 700_010);
console.log(snapshot);
