// What run.mjs holds against JavaScript's own: each export takes bytes and gives bytes.
import { decodeText, encodeText, gpu, Json, Source } from "../index";
import { input, output } from "../assembly/abi";
import { retryAfter } from "../assembly/client";
import { matches } from "../assembly/fetcher";

/** JSON → the same JSON, or nothing where it is none. */
export function json(): void {
  const j = Json.parse(decodeText(input()));
  if (j !== null) output(encodeText(j.toString()));
}

/** The same, over many lines and read again. */
export function indented(): void {
  const j = Json.parse(decodeText(input()));
  if (j === null) return;
  const again = Json.parse(j.copy().toString(3));
  if (again !== null) output(encodeText(again.toString()));
}

/** Bytes → text → bytes. */
export function text(): void { output(encodeText(decodeText(input()))); }

export function retry(): void { output(encodeText(retryAfter(decodeText(input()), 0).toString())); }

/** {pattern, path} */
export function match(): void {
  const j = Json.parse(decodeText(input()))!;
  output(encodeText(matches(j.str("pattern"), j.str("path")).toString()));
}

/** {want, have} */
export function gpus(): void {
  const j = Json.parse(decodeText(input()))!;
  output(encodeText(gpu.canonical(j.str("have")) + " " + gpu.match(j.str("want"), gpu.canonical(j.str("have"))).toString()));
}

/** A number of each kind, as JSON. */
export function numbers(): void {
  output(encodeText(Json.list().push<f64>(1).push<f64>(0.1).push<f64>(-1e21).push<f64>(1e-7).push<f64>(NaN).push<i64>(i64.MIN_VALUE).push<u64>(u64.MAX_VALUE)
    .push(true).push("a").push([1, 2]).push(Json.nothing()).toString()));
}

/** Reads the entry that is wrong, which fails. */
export function wrong(): void {
  const j = Json.parse(decodeText(input()), new Source("internal", "the answer"))!;
  const m = j.must("machines").list()[1];
  m.get("size").must("gb").integer();
}
