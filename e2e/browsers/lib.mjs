// What the scripts of browsers share: Chromium, and a page that is waited for.
// playwright-core is in $PLAYWRIGHT, Chromium in $CHROMIUM.
import { createRequire } from "node:module";
import { execFileSync, spawn } from "node:child_process";

const { chromium } = createRequire(`${process.env.PLAYWRIGHT}/package.json`)("playwright-core");

export const patience = 120_000;

export const launch = (...more) =>
  chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...more] });

// browse has work use a new browser. If that fails, FILE.png shows the first page.
export async function browse(file, work, ...more) {
  const browser = await launch(...more);
  try {
    await work(browser);
  } catch (error) {
    await browser.contexts()[0]?.pages()[0]?.screenshot({ path: `${file}.png` });
    throw error;
  } finally {
    await browser.close();
  }
}

// open loads a page in a browser's context of its own, which knows no cookie.
export async function open(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 } });
  context.setDefaultTimeout(patience); // for all its pages, and what they load
  const page = await context.newPage();
  const response = await page.goto(url, { waitUntil: "domcontentloaded" });
  return { context, page, response };
}

// until asks again and again until it is true.
export async function until(what, check) {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    const found = await check();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`it did not come: ${what}`);
}

export const seer = (...args) => JSON.parse(execFileSync(process.env.SEER, [...args, "--json"], { encoding: "utf8" }));

// Tools is a client of seer mcp, as agents are.
export class Tools {
  constructor(args, env = {}) {
    this.process = spawn(process.env.SEER, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
    this.next = 1;
    this.waiting = new Map();
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const message of lines.filter(Boolean).map((l) => JSON.parse(l))) {
        this.waiting.get(message.id)?.(message);
      }
    });
    this.ended = new Promise((done) => this.process.on("exit", done));
  }

  send(message) {
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  ask(method, params) {
    const id = this.next++;
    this.send({ id, method, params });
    return new Promise((done, failed) => {
      this.waiting.set(id, (m) => (m.error ? failed(new Error(JSON.stringify(m.error))) : done(m.result)));
      this.ended.then((code) => failed(new Error(`seer mcp has ended with ${code}`)));
    });
  }

  async begin() {
    await this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "e2e", version: "0" } });
    this.send({ method: "notifications/initialized" });
    return this;
  }

  async call(name, args = {}) {
    const r = await this.ask("tools/call", { name, arguments: args });
    if (r.isError) throw new Error(`${name}: ${JSON.stringify(r.content)}`);
    return r.structuredContent ?? JSON.parse(r.content.find((c) => c.type === "text").text);
  }

  close() {
    this.process.stdin.end();
    return this.ended;
  }
}
