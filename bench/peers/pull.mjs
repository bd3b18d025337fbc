// Downloads a repository with the official JavaScript client.
// usage: pull.mjs FOLDER-OF-THE-CLIENT REPOSITORY CACHE
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [tools, repo, cacheDir] = process.argv.slice(2);
const entry = createRequire(path.join(tools, "none.js")).resolve("@huggingface/hub");
const { snapshotDownload } = await import(pathToFileURL(entry));
await snapshotDownload({ repo, hubUrl: process.env.HF_ENDPOINT, cacheDir });
