import { exit, output } from "./abi";
import { Json } from "./json";
import { encodeText, oneLine } from "./text";

/** Says what kind of failure it is: the set is closed. */
export namespace Code {
  /** The named thing does not exist. */
  export const NotFound: string = "not_found";
  /** The request can never work as it stands. */
  export const Invalid: string = "invalid";
  /** A missing, wrong or insufficient credential. */
  export const Unauthorized: string = "unauthorized";
  /** Nothing of the wanted kind is free now. */
  export const NoCapacity: string = "no_capacity";
  /** Ask again after Fault.after. */
  export const RateLimited: string = "rate_limited";
  /** A passing fault; ask again. */
  export const Unavailable: string = "unavailable";
  /** This backend cannot do it at all. */
  export const Unsupported: string = "unsupported";
  /** A defect in the plugin or backend. */
  export const Internal: string = "internal";
}

/** The error that crosses the boundary. The message is one sentence for a person. */
export class Fault {
  constructor(public code: string, public message: string, public after: f64 = 0) {}
}

const longestMessage = 400; // of which a part may be what somebody else said

/**
 * Ends the call with an error, from however deep within it: nothing after it runs.
 * `after` is the earliest useful retry in seconds, of rate_limited and unavailable.
 */
export function fail(code: string, message: string, after: f64 = 0): void {
  const e = Json.object().set("code", code).set("message", oneLine(message, longestMessage)).opt("after_seconds", after);
  output(encodeText(Json.object().set("error", e).toString()));
  exit();
}

/** Ends the call with an error that was handed back. */
export function giveUp(fault: Fault): void {
  fail(fault.code, fault.message, fault.after);
}
