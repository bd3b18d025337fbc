// The official TypeScript client with the tools of notebooks.
// usage: node client.mjs MCP_JSON OUT, where @modelcontextprotocol/sdk is in $SDK
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.SDK}/package.json`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [config, out] = process.argv.slice(2);
const server = JSON.parse(readFileSync(config, "utf8")).mcpServers.notebook;
const client = new Client({ name: "e2e", version: "0" });
const request = client.request.bind(client);
client.request = (asked, schema, options) => request(asked, schema, { timeout: 600000, ...options }); // its own limit is 60 s
await client.connect(new StdioClientTransport({ ...server, args: [...server.args, "--wait", "5s"] }));
const call = async (tool, args = {}, options = {}) => {
  const r = await client.callTool({ name: tool, arguments: args }, undefined, options);
  assert.ok(!r.isError, JSON.stringify(r.content));
  return r;
};
// What has come of a cell in the end: on a slow computer any may outlast the client's wait.
const ended = async (r) => {
  while (["queued", "running"].includes(r.structuredContent.state)) {
    r = await call("wait_execution", { execution_id: r.structuredContent.execution_id });
  }
  assert.equal(r.structuredContent.state, "done");
  return r;
};

const started = (await call("start_new_session", { experiment_name: "e2e" })).structuredContent;
assert.match(started.notebook_path, /_e2e\.ipynb$/);
const first = (await ended(await call("execute_code", { code: "print('seen')\nmodel" }))).structuredContent;
assert.deepEqual(first.outputs, [
  { type: "stream", name: "stdout", text: "seen\n" },
  { type: "result", mime: "text/plain", text: "'prepared'" },
]);
const saved = () => JSON.parse(readFileSync(first.saved_to, "utf8"));
assert.ok(first.saved_to.includes(`/${out}/`));
assert.equal(saved().cells.length, 1);

// A cell that outlasts the client's wait is handed over, and tells of itself meanwhile.
const told = [];
const listening = { onprogress: (p) => told.push(p.message) };
const loop = "import itertools, os, time\nfor i in itertools.count():\n    print('step', i, flush=True)\n    time.sleep(.2)\n"
  + `    if os.path.exists(${JSON.stringify(`${process.cwd()}/enough`)}): break\nprint('enough')`;
let long = await call("execute_code", { code: loop }, listening);
while (!told.some((m) => /^step \d+$/.test(m))) {
  assert.match(long.structuredContent.state, /^(queued|running)$/, JSON.stringify(told));
  long = await call("wait_execution", { execution_id: long.structuredContent.execution_id }, listening);
}
assert.equal(long.structuredContent.state, "running");
writeFileSync("enough", "");
assert.match((await ended(long)).structuredContent.outputs[0].text, /^step 0\nstep 1\n[^]*enough\n$/);

const much = await ended(await call("execute_code", { code: "print('x' * 99 + '\\n' * 1, end=''); print(*range(100000))" }));
const link = much.content.find((c) => c.type === "resource_link");
const whole = (await client.readResource({ uri: `${link.uri}?offset=100` })).contents[0];
assert.match(whole.text, /^0 1 2 3 /);
assert.ok(whole._meta.size > 500000);

await call("add_markdown", { content: "# Findings" });
assert.equal(saved().cells.at(-1).cell_type, "markdown");
const page = (await call("read_notebook", { outputs: "none" })).structuredContent;
assert.deepEqual(page.cells.map((c) => c.type), ["code", "code", "code", "markdown"]);
const { variables } = (await call("variables", { name: "model" })).structuredContent;
assert.equal(variables[0].type, "str");
assert.equal((await call("shutdown_session")).structuredContent.state, "closed");
await client.close();
