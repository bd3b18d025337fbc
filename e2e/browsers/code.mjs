// VS Code in the browser: the password is asked for, the workspace is there.
// usage: node code.mjs SANDBOX URL PASSWORD FILE
import assert from "node:assert/strict";
import { browse, open } from "./lib.mjs";

const [sandbox, url, password, file] = process.argv.slice(2);
await browse("code", async (browser) => {
  const { page } = await open(browser, url);
  const enter = async (text) => {
    await page.locator("input.password").fill(text);
    await page.locator("input.submit").click();
  };
  await enter("wrong");
  await page.getByText("Incorrect password").waitFor();
  assert.ok(page.url().includes("/login"));
  await enter(password);
  await page.locator(".monaco-workbench").waitFor();
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: file }).first().waitFor();
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: file }).first().dblclick();
  await page.locator(".editor-instance .view-line", { hasText: "seen by a person" }).first().waitFor();
  console.log(`${sandbox}: VS Code in the browser`);
});
