import { input, output } from "./abi";
import { ExposeRequest, Exposer } from "./expose";
import { Code, fail } from "./fail";
import { Fetcher, FileRef, ModelRef } from "./fetcher";
import { begin } from "./http";
import { Json, Source } from "./json";
import { OfferQuery, Provider, MachineSpec } from "./provider";
import { decodeText, encodeText } from "./text";

function read(): Json {
  begin();
  const j = Json.parse(decodeText(input()), new Source(Code.Invalid, "the input"));
  if (j === null) {
    fail(Code.Invalid, "the input is no JSON");
    return Json.nothing();
  }
  return j;
}

function write(result: Json): i32 {
  output(encodeText(Json.object().set("ok", result).toString()));
  return 0;
}

/** The exports of a provider, one line each in the plugin's own file. */
export namespace provider {
  export function describe(p: Provider): i32 {
    read();
    return write(p.describe().toJson());
  }
  export function offers(p: Provider): i32 {
    const found = p.offers(new OfferQuery(read())), out = Json.list();
    for (let i = 0; i < found.length; i++) out.push(found[i].toJson());
    return write(out);
  }
  export function create(p: Provider): i32 {
    const in_ = read();
    return write(p.create(new MachineSpec(in_.get("spec")), in_.get("cursor")).toJson());
  }
  export function observe(p: Provider): i32 {
    const seen = p.observe(read().get("handles").strings()), out = Json.list();
    for (let i = 0; i < seen.length; i++) out.push(seen[i].toJson());
    return write(out);
  }
  export function list(p: Provider): i32 {
    const found = p.list(read().str("owner")), out = Json.list();
    for (let i = 0; i < found.length; i++) out.push(found[i].toJson());
    return write(out);
  }
  export function terminate(p: Provider): i32 {
    p.terminate(read().str("handle"));
    return write(Json.object());
  }
  export function snapshot(p: Provider): i32 {
    const in_ = read();
    return write(p.snapshot(in_.str("handle"), in_.str("key"), in_.get("cursor")).toJson());
  }
}

/** The exports of a fetcher. */
export namespace fetcher {
  export function resolve(f: Fetcher): i32 { return write(f.resolve(new ModelRef(read())).toJson()); }
  export function locate(f: Fetcher): i32 { return write(f.locate(new FileRef(read())).toJson()); }
}

/** The export of an expose mode. */
export namespace exposer {
  export function expose(e: Exposer): i32 { return write(e.expose(new ExposeRequest(read())).toJson()); }
}
