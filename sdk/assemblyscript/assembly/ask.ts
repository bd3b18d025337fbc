import { drop, give, take } from "./abi";
import { Code, Fault } from "./fail";
import { Json, Source } from "./json";
import { decodeText, encodeText } from "./text";

/** What a host function answered: a value, or why not. */
export class Reply {
  constructor(public value: Json, public fault: Fault | null) {}
}

/** Calls a host function that takes JSON and answers an envelope. */
export function ask(host: (block: u64) => u64, input: Json): Reply {
  const block = give(encodeText(input.toString()));
  const envelope = Json.parse(decodeText(take(host(block))), new Source(Code.Internal, "the host's answer"));
  drop(block);
  if (envelope === null) {
    return new Reply(Json.nothing(), new Fault(Code.Internal, "the host's answer is no JSON"));
  }
  const fault = readFault(envelope.get("error"));
  return new Reply(envelope.get("ok"), fault);
}

/** An error as it is written in JSON; null where there is none. */
export function readFault(e: Json): Fault | null {
  if (e.isNull) return null;
  return new Fault(e.str("code", Code.Internal), e.str("message"), e.num("after_seconds"));
}
