import { drop, give } from "./abi";
import { encodeText } from "./text";

// @ts-ignore: decorator
@external("extism:host/env", "log_debug")
declare function log_debug(block: u64): void;

// @ts-ignore: decorator
@external("extism:host/env", "log_info")
declare function log_info(block: u64): void;

// @ts-ignore: decorator
@external("extism:host/env", "log_warn")
declare function log_warn(block: u64): void;

/** Seer's log. A call may log 64 KiB. */
export namespace log {
  export function debug(text: string): void {
    const block = give(encodeText(text));
    log_debug(block);
    drop(block);
  }
  export function info(text: string): void {
    const block = give(encodeText(text));
    log_info(block);
    drop(block);
  }
  export function warn(text: string): void {
    const block = give(encodeText(text));
    log_warn(block);
    drop(block);
  }
}
