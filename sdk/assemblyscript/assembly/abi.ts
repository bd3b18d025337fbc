// The Extism kernel, the little of WASI that is used, and blocks of memory that pass
// between this module and the host.

// @ts-ignore: decorator
@external("extism:host/env", "alloc")
declare function alloc(size: u64): u64;

// @ts-ignore: decorator
@external("extism:host/env", "free")
declare function free(block: u64): void;

// @ts-ignore: decorator
@external("extism:host/env", "length")
declare function length(block: u64): u64;

// @ts-ignore: decorator
@external("extism:host/env", "load_u8")
declare function load_u8(at: u64): u32;

// @ts-ignore: decorator
@external("extism:host/env", "load_u64")
declare function load_u64(at: u64): u64;

// @ts-ignore: decorator
@external("extism:host/env", "store_u8")
declare function store_u8(at: u64, value: u32): void;

// @ts-ignore: decorator
@external("extism:host/env", "store_u64")
declare function store_u64(at: u64, value: u64): void;

// @ts-ignore: decorator
@external("extism:host/env", "input_length")
declare function input_length(): u64;

// @ts-ignore: decorator
@external("extism:host/env", "input_load_u8")
declare function input_load_u8(at: u64): u32;

// @ts-ignore: decorator
@external("extism:host/env", "input_load_u64")
declare function input_load_u64(at: u64): u64;

// @ts-ignore: decorator
@external("extism:host/env", "output_set")
declare function output_set(block: u64, size: u64): void;

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: u32): void;

/** The input of the call. */
export function input(): Uint8Array {
  const size = <i32>input_length();
  const out = new Uint8Array(size);
  let i = 0;
  for (; i + 8 <= size; i += 8) store<u64>(out.dataStart + i, input_load_u64(i));
  for (; i < size; i++) store<u8>(out.dataStart + i, <u8>input_load_u8(i));
  return out;
}

/** Sets the output of the call. */
export function output(bytes: Uint8Array): void {
  output_set(give(bytes), bytes.length);
}

/** Ends the call with the output that was set, and with it the instance. */
export function exit(): void {
  proc_exit(0);
  unreachable();
}

/** Copies bytes into a new block. */
export function give(bytes: Uint8Array): u64 {
  const size = bytes.length, block = alloc(size);
  let i = 0;
  for (; i + 8 <= size; i += 8) store_u64(block + i, load<u64>(bytes.dataStart + i));
  for (; i < size; i++) store_u8(block + i, load<u8>(bytes.dataStart + i));
  return block;
}

/** Copies a block of the host's and frees it; block 0 is empty. */
export function take(block: u64): Uint8Array {
  if (block == 0) return new Uint8Array(0);
  const size = <i32>length(block), out = new Uint8Array(size);
  let i = 0;
  for (; i + 8 <= size; i += 8) store<u64>(out.dataStart + i, load_u64(block + i));
  for (; i < size; i++) store<u8>(out.dataStart + i, <u8>load_u8(block + i));
  free(block);
  return out;
}

/** Frees a block. */
export function drop(block: u64): void {
  if (block != 0) free(block);
}
