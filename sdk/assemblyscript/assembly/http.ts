import { ask, readFault } from "./ask";
import { drop, give, take } from "./abi";
import { Code, Fault } from "./fail";
import { Json, Source } from "./json";
import { decodeText, lower } from "./text";

// @ts-ignore: decorator
@external("extism:host/user", "http_open")
declare function http_open(block: u64): u64;

// @ts-ignore: decorator
@external("extism:host/user", "stream_send")
declare function stream_send(stream: i64, block: u64, flags: i32): i32;

// @ts-ignore: decorator
@external("extism:host/user", "stream_credit")
declare function stream_credit(stream: i64, bytes: i64): void;

// @ts-ignore: decorator
@external("extism:host/user", "stream_wait")
declare function stream_wait(milliseconds: i64): u64;

const sendEnd = 1, sendCancel = 2, sendData = 4;
const sendOK = 0, sendFull = 1;
const pieceSize = 64 << 10;

/** A request. The host adds credentials, and follows redirects that are allowed. */
export class Request {
  headers: Map<string, string> = new Map<string, string>();
  body: Uint8Array | null = null;
  /** Seconds for the whole exchange: a call has 30. */
  timeout: f64 = 20;
  /** The longest body of an answer, in bytes. */
  limit: i32 = 8 << 20;

  constructor(public method: string, public url: string) {}
}

/** The answer to a request. Where there is none, `fault` says why. */
export class Response {
  status: i32 = 0;
  fault: Fault | null = null;
  /** It failed after the request may have had its effect. */
  inDoubt: bool = false;
  body: Uint8Array = new Uint8Array(0);
  /** @internal by name in small letters */ headers: Map<string, string> = new Map<string, string>();

  /** A header's value, or "". Several are joined by a comma. */
  header(name: string): string {
    const key = lower(name);
    return this.headers.has(key) ? this.headers.get(key) : "";
  }

  text(): string { return decodeText(this.body); }
}

let givenUp = false;

/**
 * The engine has given the call up, or its time is over: 2 seconds are left to clear
 * up. It is known only after a request.
 */
export function cancelled(): bool { return givenUp; }

/** @internal A new call begins. */
export function begin(): void { givenUp = false; }

/** Makes a request and waits for the whole answer. */
export function send(request: Request): Response {
  const exchange = new Exchange(request);
  exchange.run();
  return exchange.response;
}

class Exchange {
  response: Response = new Response();
  private stream: i64 = 0;
  private sent: i32 = 0;
  private full: bool = false;
  private sending: bool = false;
  private over: bool = false;
  private pieces: Uint8Array[] = [];
  private size: i32 = 0;

  constructor(private request: Request) {}

  run(): void {
    if (!this.open()) return;
    while (!this.over) {
      this.upload();
      const block = take(stream_wait(1000));
      if (block.length > 0) this.events(block);
    }
    this.join();
  }

  private open(): bool {
    const r = this.request, body = r.body, headers = Json.object(), names = r.headers.keys();
    for (let i = 0; i < names.length; i++) headers.set(names[i], [r.headers.get(names[i])]);
    const input = Json.object().set("method", r.method).set("url", r.url).opt("headers", headers).set("timeout_seconds", r.timeout);
    if (body !== null) {
      input.set("body", true).opt("content_length", body.length);
      this.sending = true;
    }
    const reply = ask(http_open, input);
    this.response.fault = reply.fault;
    if (reply.fault !== null) return false;
    this.stream = reply.value.int("stream");
    return true;
  }

  /** Hands over as much of the body as the host has room for. */
  private upload(): void {
    const body = this.request.body;
    while (this.sending && !this.full && body !== null) {
      const rest = body.subarray(this.sent, min(this.sent + pieceSize, body.length));
      const last = this.sent + rest.length == body.length;
      const block = rest.length > 0 ? give(rest) : 0;
      const answer = stream_send(this.stream, block, (rest.length > 0 ? sendData : 0) | (last ? sendEnd : 0));
      drop(block);
      this.full = answer == sendFull;
      if (answer == sendOK) this.sent += rest.length;
      if (answer < 0 || (answer == sendOK && last)) this.sending = false;
    }
  }

  /** Takes a block of events apart: a length, JSON, and its payload. */
  private events(block: Uint8Array): void {
    let at = 0, credit = 0;
    while (at + 4 <= block.length && !this.over) {
      const size = <i32>load<u32>(block.dataStart + at);
      at += 4;
      if (size < 0 || size > block.length - at) return this.broken();
      const event = Json.parse(decodeText(block.subarray(at, at + size)), new Source(Code.Internal, "an event of the host"));
      if (event === null) return this.broken();
      at += size;
      const payload = <i32>event.int("n");
      if (payload < 0 || payload > block.length - at) return this.broken();
      this.event(event, block.subarray(at, at + payload));
      at += payload;
      credit += payload;
    }
    if (credit > 0 && !this.over) stream_credit(this.stream, credit);
  }

  private event(event: Json, payload: Uint8Array): void {
    const kind = event.str("k");
    if (kind == "cancel") {
      givenUp = true;
      this.stop(new Fault(Code.Unavailable, "the call was given up"));
    }
    if (event.int("s") != this.stream || this.over) return;
    if (kind == "head") this.head(event);
    else if (kind == "data") this.data(payload);
    else if (kind == "room") this.full = false;
    else if (kind == "end") {
      this.over = true;
      const fault = readFault(event.get("error"));
      this.response.fault = fault;
      // What the host refused was never sent.
      this.response.inDoubt = fault !== null && fault.code == Code.Unavailable;
    }
  }

  private head(event: Json): void {
    this.response.status = <i32>event.int("status");
    const all = event.get("headers"), names = all.keys();
    for (let i = 0; i < names.length; i++) {
      this.response.headers.set(lower(names[i]), all.get(names[i]).strings().join(", "));
    }
  }

  private data(payload: Uint8Array): void {
    this.size += payload.length;
    if (this.size > this.request.limit) {
      this.stop(new Fault(Code.Internal, "the answer has more than " + this.request.limit.toString() + " bytes"));
    } else {
      this.pieces.push(payload);
    }
  }

  private broken(): void { this.stop(new Fault(Code.Internal, "the host delivered what cannot be read")); }

  /** Gives the request up. */
  private stop(fault: Fault): void {
    stream_send(this.stream, 0, sendCancel);
    this.over = true;
    this.response.fault = fault;
    this.response.inDoubt = true;
  }

  private join(): void {
    if (this.response.fault !== null) return;
    const body = new Uint8Array(this.size);
    for (let i = 0, at = 0; i < this.pieces.length; i++) {
      body.set(this.pieces[i], at);
      at += this.pieces[i].length;
    }
    this.response.body = body;
  }
}
