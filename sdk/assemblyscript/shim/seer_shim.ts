// What the compiler would else import from a JavaScript host, which Seer is not: these
// names are put in place of its own by asconfig.json.

import { Date } from "date";

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: u32, iovs: usize, count: usize, written: usize): u32;

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "random_get")
declare function random_get(at: usize, size: usize): u32;

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "clock_time_get")
declare function clock_time_get(clock: u32, precision: u64, out: usize): u32;

// @ts-ignore: decorator
@lazy const scratch = memory.data(16, 8);

function write(text: string): void {
  const bytes = String.UTF8.encode(text);
  store<usize>(scratch, changetype<usize>(bytes));
  store<usize>(scratch, <usize>bytes.byteLength, sizeof<usize>());
  fd_write(2, scratch, 1, scratch + 8);
}

/** Ends the instance. Seer shows the line that begins with "panic: ". */
export function seer_abort(message: string | null = null, file: string | null = null, line: u32 = 0, column: u32 = 0): void {
  const what = message === null ? "the program was aborted" : message;
  const where = file === null ? "" : " (" + file + ":" + line.toString() + ":" + column.toString() + ")";
  write("panic: " + what + where + "\n");
  unreachable();
}

/** Seeds Math.random. */
export function seer_seed(): f64 {
  random_get(scratch, 8);
  return reinterpret<f64>(load<u64>(scratch));
}

export function seer_trace(message: string, n: i32 = 0, a: f64 = 0, b: f64 = 0, c: f64 = 0, d: f64 = 0, e: f64 = 0): void {
  let line = message;
  if (n > 0) line += " " + a.toString();
  if (n > 1) line += ", " + b.toString();
  if (n > 2) line += ", " + c.toString();
  if (n > 3) line += ", " + d.toString();
  if (n > 4) line += ", " + e.toString();
  write(line + "\n");
}

/** console.log and its like write to Seer's log, at level debug. */
export namespace seer_console {
  export function assert<T>(condition: T, message: string = ""): void {
    if (!condition) write("assertion failed: " + message + "\n");
  }
  export function log(message: string = ""): void { write(message + "\n"); }
  export function debug(message: string = ""): void { write(message + "\n"); }
  export function info(message: string = ""): void { write(message + "\n"); }
  export function warn(message: string = ""): void { write(message + "\n"); }
  export function error(message: string = ""): void { write(message + "\n"); }
}

export class seer_Date extends Date {
  static now(): i64 {
    clock_time_get(0, 1000000, scratch);
    return load<u64>(scratch) / 1000000;
  }
}
