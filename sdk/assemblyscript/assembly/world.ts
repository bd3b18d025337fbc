// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "clock_time_get")
declare function clock_time_get(clock: u32, precision: u64, out: usize): u32;

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "random_get")
declare function random_get(at: usize, size: usize): u32;

/** The time in unix seconds. */
export function now(): i64 {
  const out = new StaticArray<u64>(1);
  clock_time_get(0, 1000000, changetype<usize>(out));
  return <i64>(out[0] / 1000000000);
}

/** So many random bytes, in hex: for names that nobody else has. */
export function random(bytes: i32): string {
  const data = new Uint8Array(bytes);
  random_get(data.dataStart, bytes);
  let out = "";
  for (let i = 0; i < bytes; i++) out += (data[i] < 16 ? "0" : "") + (<u32>data[i]).toString(16);
  return out;
}
