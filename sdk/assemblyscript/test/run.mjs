// Holds what the SDK reads and writes against JavaScript's own.
// usage: node run.mjs GUEST.wasm
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const memory = new DataView(new ArrayBuffer(16 << 20));
let given, got, top;
const kernel = {
  input_length: () => BigInt(given.length),
  input_load_u8: (at) => given[Number(at)],
  input_load_u64: (at) => given.readBigUInt64LE(Number(at)),
  alloc: (n) => { const at = top; top += (n + 15n) & ~7n; return at; },
  free() {},
  store_u8: (at, v) => memory.setUint8(Number(at), v),
  store_u64: (at, v) => memory.setBigUint64(Number(at), v, true),
  output_set: (at, n) => { got = Buffer.from(new Uint8Array(memory.buffer, Number(at), Number(n))); },
};
class Exit extends Error {}
const wasi = {
  proc_exit: () => { throw new Exit(); },
  fd_write: () => { throw new Error("the guest panicked"); },
  clock_time_get: () => 0, random_get: () => 0,
};
const nothing = new Proxy({}, { get: () => () => 0n });

const { exports: guest } = new WebAssembly.Instance(module, { "extism:host/env": kernel, wasi_snapshot_preview1: wasi, "extism:host/user": nothing });
guest._initialize();

/** Calls an export. null where it sets no output. */
function call(name, input) {
  [given, got, top] = [Buffer.from(input), null, 8n];
  try {
    guest[name]();
  } catch (e) {
    if (!(e instanceof Exit)) throw e;
  }
  return got;
}

let seed = Number(process.env.SEED ?? 1); // the same inputs each time
function random(n) {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
}

const seeds = [
  '{"a":[1,-2.5e-3,true,null,"x\\n\\u00e9\\ud83d\\ude00\\ud800"],"b":{"":{}},"a":2}', "[]", "0", "-0", "1e5", '"\\/\\b\\f"', " [ 1 , 2 ] ", '{"é😀":"\\u0000"}',
  "[[[[1]]]]", '{"a":{"b":[{"c":1},{"c":2}]}}',
];
const alphabet = '{}[]",:\\u0019aeE+-.tfn\n \u0001é😀/';

function mutated() {
  const chars = [...seeds[random(seeds.length)]];
  for (let n = random(4); n > 0; n--) chars.splice(random(chars.length + 1), random(2), [...alphabet][random([...alphabet].length)]);
  return chars.join("");
}

/** Equal but for digits, which JavaScript rounds. */
function check(text, out) {
  let want;
  try {
    want = JSON.parse(text);
  } catch {
    assert.equal(out, null, `${JSON.stringify(text)} was read as ${out}`);
    return 0;
  }
  assert.notEqual(out, null, `${JSON.stringify(text)} was not read`);
  assert.deepEqual(JSON.parse(out.toString()), want, text);
  return 1;
}

let valid = 0;
for (let i = 0; i < 20000; i++) {
  const text = i < seeds.length ? seeds[i] : mutated();
  valid += check(text, call("json", text));
  check(text, call("indented", text));
}
assert.ok(valid > 2000 && valid < 19000, `${valid} of 20000 inputs are JSON`);
const large = JSON.stringify(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i % 400}x${i}`, { [i]: i }])));
check(large, call("json", large));
const twice = `{${Array.from({ length: 300 }, (_, i) => `"k${i % 100}":${i}`).join(",")}}`;
check(twice, call("json", twice));
assert.equal(call("json", "[".repeat(100000)), null); // no deep recursion

for (let i = 0; i < 20000; i++) {
  const bytes = Buffer.from(Array.from({ length: random(8) }, () => [0x41, 0x80, 0xbf, 0xc3, 0xe0, 0xed, 0xf0, 0xf4, 0x9f, 0xa9, 0xff][random(11)]));
  assert.equal(call("text", bytes)?.toString("hex") ?? "", Buffer.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)).toString("hex"), bytes.toString("hex"));
}

const day = 86400;
for (const [text, want] of Object.entries({
  "3": 3, " 2.5 ": 2.5, "-1": 0, "": 0, soon: 0, "1e9": day,
  [new Date(1000 * 7200).toUTCString()]: 7200, [new Date(0).toUTCString()]: 0, [new Date(4e12).toUTCString()]: day, "Sun, 99 Foo 1970 00:00:00 GMT": 0,
})) assert.equal(Number(call("retry", text)), want, text);
for (let i = 0; i < 2000; i++) {
  const at = random(day);
  assert.equal(Number(call("retry", new Date(1000 * at).toUTCString())), at);
}

for (const [pattern, path, want] of [
  ["*.bin", "a/b.bin", true], ["a/*.bin", "a/b.bin", true], ["a/*.bin", "a/b/c.bin", false], ["**/c.bin", "a/b/c.bin", true], ["**/c.bin", "c.bin", true],
  ["a/**", "a/b/c", true], ["?.bin", "ab.bin", false], ["[a-c]*.txt", "b1.txt", true], ["[!a]*", "a", false], ["", "", true], ["*", "a/b", true], ["[", "[", false],
]) assert.equal(call("match", JSON.stringify({ pattern, path })).toString(), String(want), `${pattern} ${path}`);

for (const [want, have, line] of [
  ["H100", "NVIDIA H100 80GB HBM3", "H100-SXM true"], ["H100-PCIE", "NVIDIA H100 80GB HBM3", "H100-SXM false"], ["a100-80gb", "NVIDIA A100-SXM4-80GB", "A100-80GB-SXM true"],
  ["A100-40GB", "A100-80GB", "A100-80GB false"], ["*", "", " false"], ["", "", " true"], ["", "L4", "L4 false"], ["*", "Tesla T4", "T4 true"], ["A10", "A10G", "A10 true"],
  ["RTX-4090", "NVIDIA GeForce RTX 4090", "RTX-4090 true"],
]) assert.equal(call("gpus", JSON.stringify({ want, have })).toString(), line);

assert.equal(call("numbers", "").toString(), '[1,0.1,-1e+21,1e-7,null,-9223372036854775808,18446744073709551615,true,"a",[1,2],null]');
for (const [machines, what] of [
  [[{}, { size: { gb: 1.5 } }], "machines[1].size.gb is 1.5 and not a whole number"], [[{}, { size: 3 }], "machines[1].size is a number and not an object"],
  [[{}, {}], "machines[1].size.gb is missing"], [7, "machines is a number and not a list"],
]) assert.deepEqual(JSON.parse(call("wrong", JSON.stringify({ machines }))), { error: { code: "internal", message: "the answer is not as expected: " + what } });
console.log(`${valid} of 20000 texts are JSON to both`);
