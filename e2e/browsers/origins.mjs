// What the page of one sandbox can do to the Jupyter of another one, in the browser of a
// person who has both open, and what the output of an agent can do to the person.
// usage: node origins.mjs SANDBOX JUPYTER_URL, as seer open prints it
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { browse, open, until, Tools } from "./lib.mjs";

const [sandbox, url] = process.argv.slice(2);
const victim = new URL(url);
assert.match(victim.hostname, /^seer-[0-9a-f]{32}\.localhost$/);
const base = victim.pathname.match(/^\/[^/]+\//)[0];

// The neighbour: a server of another sandbox. It knows all of the URL but the token.
const heard = [];
const neighbour = createServer((request, answer) => {
  heard.push({ url: request.url, cookie: request.headers.cookie ?? "" });
  answer.writeHead(200, { "Content-Type": "text/html" }).end("<title>neighbour</title>");
});
await new Promise((done) => neighbour.listen(0, "127.0.0.1", done));
const port = neighbour.address().port;

const agent = await new Tools(["mcp", "--notebook", url, "--out", "out"]).begin();
await browse("origins", async (browser) => {
  const { context, page } = await open(browser, url);
  page.on("dialog", (d) => d.accept());
  await page.locator(".jp-LabShell, #jp-main-dock-panel").first().waitFor();
  const status = (from, where, options = {}) =>
    from.evaluate(([u, o]) => fetch(u, { credentials: "include", ...o }).then((r) => r.status, (e) => String(e)), [String(where), options]);
  const api = new URL(`${base}api/contents`, victim);
  assert.equal(await status(page, api), 200, "the person's own page has the keys");

  for (const host of ["127.0.0.1", "seer-00000000000000000000000000000000.localhost"]) {
    const attacker = await context.newPage();
    const answers = [];
    attacker.on("response", (r) => answers.push([r.url(), r.status()]));
    await attacker.goto(`http://${host}:${port}/`);
    for (const name of [victim.hostname, "127.0.0.1"]) {
      const at = new URL(api);
      at.hostname = name;
      assert.match(await status(attacker, at), /TypeError/, "an answer was read");
      await status(attacker, at, { mode: "no-cors" });
      assert.ok(answers.filter(([u]) => u === at.href).every(([, s]) => s === 403), JSON.stringify(answers));
    }
    // The neighbour's own port by the victim's name: cookies know no ports.
    const trap = `http://${victim.hostname}:${port}${base}${host}`;
    await status(attacker, trap, { mode: "no-cors" });
    await attacker.evaluate((u) => new Promise((done) => { const i = new Image(); i.onload = i.onerror = done; i.src = u; }), trap);
    await attacker.evaluate((u) => { location.href = u; }, trap);
    await until("the navigation", () => heard.filter((h) => h.url === base + host).length === 3);
    assert.deepEqual(heard.filter((h) => h.url === base + host && h.cookie.includes("username-")), []);
    await attacker.close();
  }
  // What proves something: a request that is not from another site has the cookie.
  const typed = await context.newPage();
  await typed.goto(`http://${victim.hostname}:${port}${base}typed`);
  assert.match(heard.find((h) => h.url === `${base}typed`).cookie, /username-/);
  // A domain that leads here.
  const response = await typed.goto(`http://evil.example:${victim.port}${base}api/contents?token=${victim.searchParams.get("token")}`);
  assert.equal(response.status(), 404);
  await typed.close();

  // An agent's output waits for the person's word; a cell that the person runs does not.
  const started = await agent.call("start_new_session", { experiment_name: "origins" });
  const code = "from IPython.display import HTML\nHTML('<b>drawn</b><script>window.acted = true</script><img src=x onerror=\"window.acted = true\">')";
  await agent.call("execute_code", { code });
  await page.goto(new URL(`${base}lab/tree/${started.notebook_path.split("/").map(encodeURIComponent).join("/")}?reset`, url).href, { waitUntil: "domcontentloaded" });
  await page.locator(".jp-OutputArea-output", { hasText: "drawn" }).first().waitFor();
  assert.equal(await page.evaluate(() => window.acted), undefined, "an agent's output has acted in the person's page");
  await page.locator(".jp-Notebook .jp-CodeCell").first().locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
  await until("the person's own cell to act", () => page.evaluate(() => window.acted === true));
  console.log(`${sandbox}: pages keep to themselves`);
}, "--host-resolver-rules=MAP evil.example 127.0.0.1").finally(async () => {
  await agent.close();
  neighbour.close();
  neighbour.closeAllConnections();
});
