import { Code, Fault, fail, giveUp } from "./fail";
import { Request, Response, send } from "./http";
import { Json, Source } from "./json";
import { decodeText, encodeText, oneLine } from "./text";
import { now } from "./world";

/** What came of a request. */
export class Answer {
  /** Of HTTP; 0 where there was no answer. */
  status: i32 = 0;
  /** The body, of a success. */
  json: Json = Json.nothing();
  /** Why there is no success; null where there is. */
  fault: Fault | null = null;
  /** It failed, and may have had its effect all the same. */
  inDoubt: bool = false;
  /** The backend's own code of an error, or "". */
  own: string = "";
}

/**
 * Speaks JSON with one backend and says in the words of the contract what its answers
 * mean. Each request is made once: trying again is Seer's.
 *
 *     const cloud = new Client("Tiny", setting("url"));
 *     const prices = cloud.get("/prices", "asking for prices").list();
 *
 * get, post and del end the call when there is no success; `ask` hands that back.
 */
export class Client {
  headers: Map<string, string> = new Map<string, string>();
  /** Seconds for a request with its answer. */
  timeout: f64 = 20;
  /** Bytes of an answer. */
  limit: i32 = 8 << 20;
  /** What the backend's own error codes mean, or statuses ("409"). */
  codes: Map<string, string> = new Map<string, string>();
  /** What to do about a credential that is refused. */
  keyHint: string = "";

  constructor(public name: string, public url: string) {
    if (this.url.endsWith("/")) this.url = this.url.slice(0, this.url.length - 1);
  }

  get(path: string, doing: string): Json { return this.must("GET", path, null, doing); }
  post(path: string, body: Json, doing: string): Json { return this.must("POST", path, body, doing); }

  /** Deletes; what is not there is done. */
  del(path: string, doing: string): void {
    const answer = this.ask("DELETE", path, null, doing), fault = answer.fault;
    if (fault !== null && fault.code != Code.NotFound) giveUp(fault);
  }

  private must(method: string, path: string, body: Json | null, doing: string): Json {
    const answer = this.ask(method, path, body, doing), fault = answer.fault;
    if (fault !== null) giveUp(fault);
    if (answer.json.isNull && answer.status != 204) {
      fail(Code.Internal, doing + ": " + this.name + " answers with nothing");
    }
    return answer.json;
  }

  /** Makes a request. doing: "renting a machine", for messages. */
  ask(method: string, path: string, body: Json | null, doing: string): Answer {
    const request = new Request(method, this.url + path), names = this.headers.keys();
    request.timeout = this.timeout;
    request.limit = this.limit;
    request.headers.set("Accept", "application/json");
    for (let i = 0; i < names.length; i++) request.headers.set(names[i], this.headers.get(names[i]));
    if (body !== null) {
      request.headers.set("Content-Type", "application/json");
      request.body = encodeText(body.toString());
    }
    return this.understand(send(request), doing);
  }

  private understand(response: Response, doing: string): Answer {
    const answer = new Answer(), fault = response.fault;
    answer.status = response.status;
    answer.inDoubt = response.inDoubt;
    if (fault !== null) {
      answer.fault = new Fault(fault.code, doing + ": " + fault.message, fault.after);
    } else if (response.status < 200 || response.status > 299) {
      answer.inDoubt = response.status >= 500 || response.status == 408;
      this.problem(answer, response, doing);
    } else {
      const source = new Source(Code.Internal, doing + ": the answer of " + this.name);
      const json = response.body.length > 0 ? Json.parse(decodeText(response.body), source) : Json.nothing(source);
      if (json === null) {
        answer.fault = new Fault(Code.Internal, doing + ": " + this.name + " answers with something that is no JSON");
        answer.inDoubt = true;
      } else {
        answer.json = json;
      }
    }
    return answer;
  }

  /** Says what an answer means that is no success. */
  private problem(answer: Answer, response: Response, doing: string): void {
    const status = response.status, problem = Problem.read(response.text());
    answer.own = problem.code;
    let meaning = usual(status);
    if (this.codes.has(problem.code)) meaning = new Meaning(this.codes.get(problem.code), says(status));
    else if (this.codes.has(status.toString())) meaning = new Meaning(this.codes.get(status.toString()), says(status));
    const fault = new Fault(meaning.code, doing + ": " + this.name + " " + meaning.words);
    if (problem.said != "") fault.message += ": " + problem.said;
    if (fault.code == Code.Unauthorized && this.keyHint != "") fault.message += "; " + this.keyHint;
    if (fault.code == Code.RateLimited || fault.code == Code.Unavailable) fault.after = retryAfter(response.header("Retry-After"), now());
    answer.fault = fault;
  }
}

/** What a backend says about an error, in one of the usual forms. */
class Problem {
  constructor(public said: string, public code: string) {}

  static read(text: string): Problem {
    const json = Json.parse(text);
    if (json !== null) {
      const p = Problem.of(json, 4);
      p.said = oneLine(p.said);
      return p;
    }
    const page = text.trimStart().startsWith("<") || text.trimStart().startsWith("{") || text.trimStart().startsWith("[");
    return new Problem(page ? "" : oneLine(text), "");
  }

  private static of(j: Json, depth: i32): Problem {
    if (j.isText) return new Problem(j.text(), "");
    if (depth > 0 && j.isList && j.length > 0) return Problem.of(j.list()[0], depth - 1);
    if (!j.isObject) return new Problem("", "");
    let code = j.get("code").isText ? j.str("code") : j.get("type").isText ? j.str("type") : "";
    if (code == "" && j.get("message").isText && j.get("error").isText) code = j.str("error");
    const places = ["message", "detail", "error", "errors", "error_description", "reason", "title"];
    for (let i = 0; i < places.length && depth > 0; i++) {
      const inner = Problem.of(j.get(places[i]), depth - 1);
      if (code == "") code = inner.code;
      if (inner.said != "") return new Problem(inner.said, code);
    }
    return new Problem("", code);
  }
}

class Meaning {
  constructor(public code: string, public words: string) {}
}

function says(status: i32): string { return "says no (HTTP " + status.toString() + ")"; }

function usual(status: i32): Meaning {
  if (status >= 300 && status < 400) return new Meaning(Code.Invalid, "sends elsewhere, which is not followed");
  if (status == 401) return new Meaning(Code.Unauthorized, "refuses the credential");
  if (status == 402) return new Meaning(Code.Unauthorized, "wants to be paid first");
  if (status == 403) return new Meaning(Code.Unauthorized, "refuses access");
  if (status == 404 || status == 410) return new Meaning(Code.NotFound, "does not know it");
  if (status == 429) return new Meaning(Code.RateLimited, "asks to slow down");
  if (status == 405 || status == 501) return new Meaning(Code.Unsupported, "cannot do it");
  if (status == 408 || status == 425 || status >= 500) {
    return new Meaning(Code.Unavailable, "is not available now (HTTP " + status.toString() + ")");
  }
  return new Meaning(Code.Invalid, says(status));
}

const longestWait: f64 = 24 * 60 * 60;

/** Seconds of a Retry-After header: a number, or an HTTP date. 0 = not said. */
export function retryAfter(text: string, time: i64): f64 {
  text = text.trim();
  let seconds = parseFloat(text);
  const parts = text.split(" ");
  if (parts.length == 6 && parts[5] == "GMT") seconds = <f64>(unixOf(parts) - time);
  return seconds > 0 ? min(seconds, longestWait) : 0;
}

/** The unix time of "Sun, 06 Nov 1994 08:49:37 GMT", in its parts. */
function unixOf(parts: string[]): i64 {
  const clock = parts[4].split(":"), name = "JanFebMarAprMayJunJulAugSepOctNovDec".indexOf(parts[2]);
  if (clock.length != 3 || name < 0) return 0;
  const day = <i64>parseInt(parts[1]), month = <i64>(name / 3), year = <i64>parseInt(parts[3]);
  // Days from civil, with years that begin in March.
  const y = month < 2 ? year - 1 : year, m = (month + 10) % 12, era = y / 400, inEra = y - era * 400;
  const days = era * 146097 + inEra * 365 + inEra / 4 - inEra / 100 + (m * 153 + 2) / 5 + day - 1 - 719468;
  return days * 86400 + <i64>parseInt(clock[0]) * 3600 + <i64>parseInt(clock[1]) * 60 + <i64>parseInt(clock[2]);
}
