// The official JavaScript client against a fake Modal, on both back ends.
// MODAL_JS is the folder where it is installed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";

const { ModalClient } = createRequire(process.env.MODAL_JS + "/")("modal");

const freePort = () => Number(execFileSync("python3", [process.env.TOP + "/e2e/freeport.py"]));

async function fetched(url) { // as soon as it is served
  for (const end = Date.now() + 300_000; Date.now() < end; ) {
    try {
      return await (await fetch(url)).text();
    } catch {
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  assert.fail(`nothing is served at ${url}`);
}

async function sandboxWorks(modal, app, image, volume, gpu) {
  const port = freePort();
  const server = `echo begin $WHO; mkdir site; echo page >site/a; cd site; exec python3 -m http.server ${port}`;
  const sb = await modal.sandboxes.create(app, image, {
    command: ["sh", "-c", server], gpu, timeoutMs: 300_000, encryptedPorts: [port], env: { WHO: "me" },
    workdir: "/workspace", volumes: { "/vol": volume }, name: "server",
  });
  const tunnel = (await sb.tunnels())[port];
  assert.equal(await fetched(`http://${tunnel.host}:${tunnel.port}/a`), "page\n");
  assert.equal(await sb.poll(), null);
  assert.equal((await modal.sandboxes.fromName("js", "server")).sandboxId, sb.sandboxId);

  const p = await sb.exec(["sh", "-c", "echo out $WHO; echo err >&2; cat; exit 3"]);
  const stdin = p.stdin.getWriter();
  await stdin.write("in\n");
  await stdin.close();
  assert.equal(await p.stdout.readText(), "out me\nin\n");
  assert.equal(await p.stderr.readText(), "err\n");
  assert.equal(await p.wait(), 3);

  await sb.filesystem.writeText("text é\n", "/workspace/deep/file");
  assert.equal(await sb.filesystem.readText("/workspace/deep/file"), "text é\n");
  await sb.filesystem.writeText(`${gpu}\n`, `/vol/${gpu}`);

  await sb.setTags({ kind: "server" });
  const found = [];
  for await (const s of modal.sandboxes.list({ appId: app.appId, tags: { kind: "server" } })) found.push(s.sandboxId);
  assert.deepEqual(found, [sb.sandboxId]);

  const saved = await sb.snapshotFilesystem();
  assert.equal(await sb.terminate({ wait: true }), 137);
  assert.equal(await sb.stdout.readText(), "begin me\n");

  const again = await modal.sandboxes.create(app, saved, { command: ["cat", "deep/file"], gpu, workdir: "/workspace" });
  assert.equal(await again.wait(), 0);
  assert.equal(await again.stdout.readText(), "text é\n");
}

const modal = new ModalClient();
const app = await modal.apps.fromName("js", { createIfMissing: true });
const volume = await modal.volumes.fromName("data", { createIfMissing: true });
const image = modal.images.fromRegistry("python:3.12-slim").dockerfileCommands(["RUN pip install numpy"]);
for (const gpu of [undefined, "A100:2"]) {
  await sandboxWorks(modal, app, image, volume, gpu);
  console.log("javascript:", gpu ?? "cpu");
}
await assert.rejects(modal.sandboxes.create(app, image.dockerfileCommands(["RUN pip install no-such-package"])),
  /pip install no-such-package/);
await assert.rejects(modal.sandboxes.create(app, image, { gpu: "no-such-gpu" }),
  /Invalid GPU type/);
await modal.volumes.delete("data");
modal.close();
