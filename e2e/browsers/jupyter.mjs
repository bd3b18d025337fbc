// A person's JupyterLab and an agent's tools on one notebook.
// usage: node jupyter.mjs SANDBOX JUPYTER_URL
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { browse, open, until, Tools } from "./lib.mjs";

const [sandbox, url] = process.argv.slice(2);
const agent = await new Tools(["mcp", "--notebook", url, "--out", "out"]).begin();
await browse("jupyter", async (browser) => {
  const started = await agent.call("start_new_session", { experiment_name: "browser" });
  await agent.call("execute_code", { code: "print('before ' + 'the page')" });

  // Without the token nobody gets beyond the door.
  const wrong = url.replace(/token=.*/, "token=wrong");
  const refused = await open(browser, wrong);
  assert.ok(refused.page.url().includes("/login") || refused.response.status() === 403, refused.page.url());
  assert.ok(!(await refused.page.locator(".jp-LabShell").count()));
  const api = await refused.page.evaluate(async (u) => (await fetch(u)).status, new URL("api/contents", url).href);
  assert.equal(api, 403);
  await refused.context.close();

  // The URL as it is printed leads into JupyterLab.
  const { page } = await open(browser, url);
  page.on("dialog", (d) => d.accept());
  await page.locator(".jp-LabShell, #jp-main-dock-panel").first().waitFor();
  const tree = new URL(`lab/tree/${started.notebook_path.split("/").map(encodeURIComponent).join("/")}?reset`, url).href;
  await page.goto(tree, { waitUntil: "domcontentloaded" });
  const notebook = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook");
  await notebook.waitFor();
  const output = (text) => page.locator(".jp-Notebook .jp-OutputArea-output", { hasText: text }).first();
  await output("before the page").waitFor();

  // What the agent runs now appears without a reload, also while it runs.
  await page.evaluate(() => (window.notReloaded = true));
  const seen = `/workspace/seen-${process.pid}`;
  const code = `import os, time\nprint('while ' + 'open', flush=True)\nwhile not os.path.exists("${seen}"): time.sleep(0.1)\n6 * 7`;
  const live = await agent.call("execute_code", { code, timeout: 1 });
  assert.match(live.state, /^(queued|running)$/);
  await output("while open").waitFor();
  execFileSync(process.env.SEER, ["exec", sandbox, "--", "touch", seen]);
  assert.equal((await agent.call("wait_execution", { execution_id: live.execution_id, timeout: 60 })).state, "done");
  await page.locator(".jp-Notebook .jp-OutputArea-executeResult", { hasText: "42" }).first().waitFor();

  // What a person types is what the agent reads and runs.
  const cell = page.locator(".jp-Notebook .jp-CodeCell").first();
  await cell.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("\nhuman = 'é typed'");
  const typed = await until("the person's text", async () => {
    const { cells } = await agent.call("read_notebook", {});
    return cells.find((c) => c.source.includes("human = 'é typed'"));
  });
  assert.equal(typed.index, 0);
  await agent.call("edit_cell", { cell: typed.id, code: typed.source + "\nprint(human.upper())" });
  await output("É TYPED").waitFor();
  assert.ok(await page.evaluate(() => window.notReloaded), "the page was loaded again");

  // And a cell that the person runs with the keyboard has its output for both.
  await page.locator(".jp-Notebook .jp-CodeCell").nth(1).locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("print('by ' + 'hand', human)");
  await page.keyboard.press("Shift+Enter");
  await output("by hand é typed").waitFor();
  await until("the person's output", async () => JSON.stringify((await agent.call("read_notebook", {})).cells).includes("by hand é typed"));
  console.log(`${sandbox}: a notebook in the browser`);
}).finally(() => agent.close());
