// Looks with the official JavaScript client for each file of a snapshot that Seer has made.
// usage: HUB_JS=FOLDER shared.mjs CACHE EXPECTED
import { createRequire } from "node:module";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const entry = createRequire(path.join(process.env.HUB_JS, "none.js")).resolve("@huggingface/hub");
const { downloadFileToCacheDir, scanCacheDir } = await import(pathToFileURL(entry));
const hubUrl = process.env.HF_ENDPOINT, revision = process.env.HUB_COMMIT;
const [cacheDir, expected] = process.argv.slice(2);

const snapshot = path.join(cacheDir, "models--org--model", "snapshots", revision);
const names = readdirSync(snapshot, { recursive: true }).filter((name) => statSync(path.join(snapshot, name)).isFile());
assert(names.includes("model.safetensors") && names.includes("config.json"), names);
for (const name of names) {
  for (const asked of [revision, "main"]) {
    const found = await downloadFileToCacheDir({ repo: "org/model", path: name, revision: asked, hubUrl, cacheDir });
    assert.deepEqual(readFileSync(found), readFileSync(path.join(expected, name)), name);
  }
}
const { repos, warnings } = await scanCacheDir(cacheDir);
assert.deepEqual(warnings, []);
assert.deepEqual(repos.map((repo) => [repo.id.name, repo.revisions.map((r) => r.commitOid)]), [["org/model", [revision]]]);
