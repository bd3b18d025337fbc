import { Function, Interface, Json, Writer } from "@seer-engine/sdk";
import { qualifies } from "./strict";

const longestName = 64, longestDescription = 1024;

/** One function as a tool. */
export class Tool {
  constructor(public name: string, public f: Function) {}

  /** In the form that the API wants: for chat, what matters is one level deeper. */
  toJson(api: string): Json {
    const schema = parameters(this.f), strict = qualifies(schema);
    const inner = Json.object();
    if (api == "responses") inner.set("type", "function");
    // Said either way: the two APIs take an absent `strict` for different things.
    inner.set("name", this.name).opt("description", description(this.f)).set("parameters", schema).set("strict", strict);
    return api == "responses" ? inner : Json.object().set("type", "function").set("function", inner);
  }

  /** What `call` must know to pass the arguments on as Python wants them. */
  binding(): Json {
    const params = Json.list();
    for (let i = 0; i < this.f.params.length; i++) {
      const p = this.f.params[i], j = Json.object().set("name", p.name).set("kind", p.kind);
      if (p.hasDefault && !p.default_.isNull) j.set("default", p.default_);
      params.push(j);
    }
    return Json.object().set("function", this.f.name).opt("stream", this.f.stream).set("params", params);
  }
}

/** All functions, each with a name that the API takes and no other tool has. */
export function toolsOf(i: Interface): Tool[] {
  const out: Tool[] = [], taken = new Set<string>();
  for (let k = 0; k < i.functions.length; k++) if (allowed(i.functions[k].name)) taken.add(i.functions[k].name);
  for (let k = 0; k < i.functions.length; k++) {
    const f = i.functions[k];
    let name = f.name;
    if (!allowed(name)) {
      const plain = simplified(name);
      name = plain;
      for (let n = 2; taken.has(name); n++) name = plain.slice(0, longestName - 4) + "_" + n.toString();
      taken.add(name);
    }
    out.push(new Tool(name, f));
  }
  return out;
}

function plain(c: i32): bool {
  return (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c == 95 || c == 45;
}

function allowed(name: string): bool {
  if (name == "" || name.length > longestName) return false;
  for (let i = 0; i < name.length; i++) if (!plain(name.charCodeAt(i))) return false;
  return true;
}

/** The name with what is not allowed in it replaced. */
function simplified(name: string): string {
  let out = "";
  for (let i = 0; i < name.length && out.length < longestName; i++) {
    const c = name.charCodeAt(i);
    if ((c & 0xfc00) != 0xdc00) out += plain(c) ? name.charAt(i) : "_"; // a pair is one character
  }
  return out == "" ? "function" : out;
}

/** A schema of an object: the API takes no other. */
function parameters(f: Function): Json {
  const s = f.inputSchema;
  if (s.isObject && s.get("type").isText && s.str("type") == "object") return s;
  return Json.object().set("type", "object").set("properties", Json.object()).set("additionalProperties", true);
}

function description(f: Function): string {
  let text = cleaned(f.doc);
  if (f.title != "" && !text.startsWith(f.title)) text = text == "" ? f.title : f.title + "\n\n" + text;
  if (f.stream) text += (text == "" ? "" : "\n\n") + "Gives a list of items.";
  return text.length <= longestDescription ? text : whole(text.slice(0, longestDescription - 1)) + "…";
}

/** Without half a pair at the end. */
function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return (last & 0xfc00) == 0xd800 ? text.slice(0, text.length - 1) : text;
}

/** A docstring without the indentation of the code around it, as inspect.cleandoc has it. */
export function cleaned(doc: string): string {
  const lines = doc.replaceAll("\r\n", "\n").split("\n");
  let margin = i32.MAX_VALUE;
  for (let i = 1; i < lines.length; i++) {
    const rest = lines[i].trimStart();
    if (rest != "") margin = min(margin, lines[i].length - rest.length);
  }
  const out = new Writer(); // join copies all of it for each line
  for (let i = 0; i < lines.length; i++) {
    if (i > 0) out.text("\n");
    out.text(i == 0 ? lines[i].trim() : lines[i].slice(min(margin, lines[i].length)).trimEnd());
  }
  return out.toString().trim();
}
