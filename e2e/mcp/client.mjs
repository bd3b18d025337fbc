// The official TypeScript client against seer mcp: over standard input and output, and
// over HTTP. It checks every result against the tool's output schema by itself.
// usage: node client.mjs MCP_JSON URL TOKEN_FILE, where @modelcontextprotocol/sdk is in $SDK
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.SDK}/package.json`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { LoggingMessageNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");

const [config, url, tokenFile] = process.argv.slice(2);
const server = JSON.parse(readFileSync(config, "utf8")).mcpServers.tools;
const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
const transports = {
  stdio: () => new StdioClientTransport({ ...server, args: [...server.args, "--wait", "1s"] }),
  http: () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }),
};

for (const [name, transport] of Object.entries(transports)) {
  const client = new Client({ name: "e2e", version: "0" });
  const request = client.request.bind(client);
  client.request = (asked, schema, options) => request(asked, schema, { timeout: 600000, ...options }); // its own limit is 60 s
  const logs = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => logs.push(n.params));
  await client.connect(transport());
  await client.setLoggingLevel("info");
  const begun = (tool, args = {}, options) => client.callTool({ name: tool, arguments: args }, undefined, options);
  const call = async (tool, args, options) => {
    let r = await begun(tool, args, options);
    while (r.structuredContent?.call) r = await begun("call-result", { call: r.structuredContent.call }, options); // a slow computer
    return r;
  };

  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(), ["add", "call-cancel", "call-result", "embed", "fail", "finish", "handle-read", "plot", "total", "train"]);
  assert.equal(tools.find((t) => t.name === "add").annotations.readOnlyHint, true);
  assert.deepEqual((await call("add", { a: 2, b: 3 })).structuredContent, { result: 5 });

  const kept = await call("embed", { n: 2000 });
  const { id, shape } = kept.structuredContent.handle;
  assert.deepEqual(shape, [2000, 64]);
  const link = kept.content.find((c) => c.type === "resource_link");
  assert.match((await client.readResource({ uri: link.uri })).contents[0].text, /float32/);
  assert.equal((await call("total", { xs: { handle: id } })).structuredContent.result, 8191936000);
  const part = await call("handle-read", { handle: id, index: "0:2, 1:3" });
  assert.deepEqual(part.structuredContent, { result: [[1, 2], [65, 66]] });

  const image = (await call("plot")).content.find((c) => c.type === "image");
  assert.equal(image.mimeType, "image/png");
  assert.equal(Buffer.from(image.data, "base64").subarray(1, 4).toString(), "PNG");

  // One that is handed over, where the server does not wait, and else one that tells of itself meanwhile.
  let heard;
  const bar = new Promise((resolve) => { heard = resolve; });
  const listening = { onprogress: (p) => p.total === 6 && p.message.includes("loss") && heard() };
  let training;
  if (name === "stdio") {
    let now = (await begun("train", { steps: 6 }, listening)).structuredContent;
    while (!/loss/.test(now.output_tail)) now = (await begun("call-result", { call: now.call }, listening)).structuredContent;
    assert.equal(now.state, "running");
    training = call("call-result", { call: now.call }, listening);
  } else {
    training = call("train", { steps: 6 }, listening);
  }
  await Promise.race([bar, training.then((r) => assert.fail(JSON.stringify(r)))]);
  await call("finish");
  assert.deepEqual((await training).structuredContent, { result: "trained" });
  assert.ok(logs.some((l) => l.logger === "train" && l.data.includes("trained")), JSON.stringify(logs));

  const failed = await call("fail");
  assert.equal(failed.isError, true);
  assert.equal(failed._meta["seer-engine.github.io/error"].type, "ValueError");
  assert.match((await call("add", { a: "five" })).content[0].text, /a must be an int/);
  await client.close();
  console.log(`${name}: ok`);
}
