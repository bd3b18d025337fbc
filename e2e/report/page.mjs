// Pages of runs as people use them. usage: node page.mjs FOLDER, which internal/testruns/write has filled
import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch, patience } from "../browsers/lib.mjs";

const folder = process.argv[2];
const browser = await launch();

// load opens a page, and fails for what it says, asks for or does beyond being a page.
async function load(name, { width = 1280, scheme = "light", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const faults = [];
  const url = pathToFileURL(`${folder}/${name}.html`).href;
  page.on("console", (m) => faults.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
  page.on("dialog", (d) => faults.push(`dialog: ${d.message()}`));
  context.on("request", (r) => r.url().startsWith("data:image/") || r.url().split("#")[0] === url || faults.push(`request: ${r.url()}`));
  context.on("page", () => faults.push("another page"));
  await page.goto(url + hash, { waitUntil: "load", timeout: patience });
  return { page, check: async () => {
    assert.deepEqual(faults, [], name);
    assert.equal(await page.evaluate(() => window.acted), undefined, `${name}: its content has acted`);
    await context.close();
  } };
}

const focused = (page) => page.evaluate(() => document.activeElement.outerHTML.slice(0, 200));
const isOpen = (page, id) => page.evaluate((i) => document.getElementById(i).open, id);

async function widths() {
  for (const name of ["sample", "hostile", "empty", "interrupted", "failed", "stopped"]) {
    for (const width of [375, 1280]) {
      const { page, check } = await load(name, { width });
      for (const open of [false, true]) {
        await page.evaluate((o) => document.querySelectorAll("details").forEach((d) => { d.open = o; }), open);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${name}: ${wide} pixels on a screen of ${width}`);
      }
      assert.equal(await page.evaluate(() => [...document.images].filter((i) => !i.complete || !i.naturalWidth).length), 0, `${name}: an image is broken`);
      await check();
    }
  }
}

async function keyboard() {
  const { page, check } = await load("sample");
  await page.keyboard.press("Tab");
  assert.match(await focused(page), /Skip to the content/);
  await page.keyboard.press("Tab");
  assert.match(await focused(page), /#summary/);
  // A folded tool call opens and closes.
  for (let i = 0; !/class="item tool"/.test(await page.evaluate(() => document.activeElement.parentElement.outerHTML.slice(0, 40))); i++) {
    assert.ok(i < 60, "no tool call was reached by Tab");
    await page.keyboard.press("Tab");
  }
  for (const open of [true, false]) {
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.parentElement.open), open);
  }
  // A citation leads to its call, which opens, and the same one again after it was closed.
  for (let again = 0; again < 2; again++) {
    await page.locator("#result a.cite").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.parentElement.id === "call-c2");
    assert.equal(await isOpen(page, "call-c2"), true);
    assert.equal(new URL(page.url()).hash, "#call-c2");
    await page.keyboard.press("Enter");
    assert.equal(await isOpen(page, "call-c2"), false);
  }
  await page.locator("#unfold").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.querySelectorAll("main details:not([open])").length), 0);
  await check();

  const direct = await load("sample", { hash: "#call-c3" });
  assert.equal(await isOpen(direct.page, "call-c3"), true, "a link from outside opens the call");
  await direct.check();
}

async function media() {
  const colours = [];
  for (const scheme of ["light", "dark"]) {
    const { page, check } = await load("sample", { scheme });
    colours.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await page.emulateMedia({ media: "print", colorScheme: scheme });
    colours.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    assert.equal(await page.locator("nav").isVisible(), false);
    assert.ok((await page.pdf({ format: "A4" })).length > 20_000);
    await check();
  }
  assert.equal(colours[1], colours[3], "print is the same in the dark");
  assert.notEqual(colours[0], colours[2]);
}

// The policy holds even for what somebody manages to add.
async function policy() {
  const { page } = await load("sample");
  const violated = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (e) => seen.push(e.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.acted = 1";
    const image = document.createElement("img");
    image.src = "https://evil.example/x.png";
    const button = document.createElement("button");
    button.setAttribute("onclick", "window.acted = 1");
    document.body.append(script, image, button);
    button.click();
    await fetch("https://evil.example/").catch(() => {});
    while (seen.length < 4) await new Promise((done) => setTimeout(done, 20));
    return seen.sort();
  });
  assert.deepEqual(violated, ["connect-src", "img-src", "script-src-attr", "script-src-elem"]);
  assert.equal(await page.evaluate(() => window.acted), undefined);
  await page.context().close();
}

// How long 5,000 messages take is said, next to a page of as many bytes of plain text: machines differ.
async function speed() {
  const bytes = statSync(`${folder}/long.html`).size;
  assert.ok(bytes <= 2_000_000, `${bytes} bytes`);
  writeFileSync(`${folder}/plain.html`, `<!DOCTYPE html><meta charset="utf-8"><title>x</title><pre>${"a line of plain text with numbers 0.1234\n".repeat(bytes / 41)}</pre>`);
  const took = {};
  for (const name of ["plain", "long"]) {
    const { page, check } = await load(name);
    took[name] = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))));
    took[`${name} first`] = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    await check();
  }
  console.log(`5000 messages, ${bytes} bytes: seen after ${took["long first"].toFixed()} ms, complete after ${took.long.toFixed()} ms; plain text: ${took["plain first"].toFixed()} ms, ${took.plain.toFixed()} ms`);
}

try {
  await widths();
  await keyboard();
  await media();
  await policy();
  await speed();
  console.log("the pages of runs are usable");
} finally {
  await browser.close();
}
