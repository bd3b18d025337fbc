import { Code, fail } from "./fail";
import { Parser } from "./parse";
import { Writer } from "./write";

/** Whose JSON it is, for the error when it is not as it should be. */
export class Source {
  constructor(public code: string, public who: string) {}

  /** Ends the call: what was read is not what was agreed. */
  complain(what: string): void {
    fail(this.code, this.who + " is not as expected: " + what);
  }
}

const unknown = new Source(Code.Invalid, "the JSON");
const noItems: Json[] = [];
const noNames: string[] = [];

/** What a Json is. */
export const enum Is { Null, Bool, Number, Text, List, Object }

function named(is: Is): string {
  switch (is) {
    case Is.Null: return "null";
    case Is.Bool: return "a boolean";
    case Is.Number: return "a number";
    case Is.Text: return "a text";
    case Is.List: return "a list";
    default: return "an object";
  }
}

/**
 * A JSON value of any kind. Reading one of another kind than is there ends the call
 * with an error that says so; what is absent or null reads as empty, and `must` is for
 * what has to be there.
 *
 *     const id = answer.must("machine").str("id");
 *     const body = Json.object().set("name", name).set("ports", [80, 443]);
 */
export class Json {
  /** @internal */ is: Is = Is.Null;
  /** @internal */ flag: bool = false;
  /** @internal the text of a text, the digits of a number */ raw: string = "";
  /** @internal */ items: Json[] = noItems; // not to be added to but by list and object
  /** @internal of an object, in order */ names: string[] = noNames;
  /** @internal */ source: Source = unknown;
  /** @internal what was read and holds this one, for errors */ within: Json | null = null;
  /** @internal its name there, or in a list its place */ name: string = "";
  /** @internal */ at: i32 = 0;

  // --- making ---

  static nothing(source: Source = unknown): Json {
    const j = new Json();
    j.source = source;
    return j;
  }

  static object(): Json {
    const j = new Json();
    j.is = Is.Object;
    j.items = [];
    j.names = [];
    return j;
  }

  static list(): Json {
    const j = new Json();
    j.is = Is.List;
    j.items = [];
    return j;
  }

  /** Of a boolean, number, text, Json, an array of these, or a Map<string, string>. */
  static of<T>(value: T): Json {
    if (isManaged<T>() && idof<T>() == idof<Json>()) return changetype<Json>(value);
    if (isArray<T>(value)) {
      const list = Json.list();
      for (let i = 0; i < value.length; i++) list.items.push(Json.of(value[i]));
      return list;
    }
    if (isManaged<T>() && idof<T>() == idof<Map<string, string>>()) {
      const object = Json.object(), map = changetype<Map<string, string>>(value), keys = map.keys();
      for (let i = 0; i < keys.length; i++) object.put(keys[i], Json.of(map.get(keys[i])));
      return object;
    }
    const j = new Json();
    if (isBoolean<T>(value)) {
      j.is = Is.Bool;
      j.flag = <bool>value;
    } else if (isInteger<T>(value)) {
      j.is = Is.Number;
      j.raw = value.toString();
    } else if (isFloat<T>(value)) {
      if (isFinite(value)) {
        j.is = Is.Number;
        const digits = value.toString();
        j.raw = digits.endsWith(".0") ? digits.slice(0, digits.length - 2) : digits;
      }
    } else if (isString<T>(value)) {
      j.is = Is.Text;
      j.raw = value;
    } else {
      ERROR("a Json is made of a boolean, number, text, Json, an array of these, or a Map<string, string>");
    }
    return j;
  }

  /** null where the text is no JSON. */
  static parse(text: string, source: Source = unknown): Json | null {
    return new Parser(text, source).all();
  }

  /** Sets an entry of an object; anything else becomes one. */
  set<T>(name: string, value: T): Json {
    this.put(name, Json.of(value));
    return this;
  }

  /** Sets an entry, unless its value is empty: 0, false, "", null, [] or {}. */
  opt<T>(name: string, value: T): Json {
    const j = Json.of(value);
    if (!j.isEmpty) this.put(name, j);
    return this;
  }

  /** Adds an item to a list; anything else becomes one. */
  push<T>(value: T): Json {
    if (this.is != Is.List) {
      this.is = Is.List;
      this.items = [];
    }
    this.items.push(Json.of(value));
    return this;
  }

  /** @internal The last of one name counts. */
  put(name: string, value: Json): void {
    if (this.is != Is.Object) {
      this.is = Is.Object;
      this.items = [];
      this.names = [];
    }
    const at = this.names.indexOf(name);
    if (at >= 0) {
      this.items[at] = value;
    } else {
      this.names.push(name);
      this.items.push(value);
    }
  }

  /** Takes an entry of an object away. */
  remove(name: string): void {
    const at = this.names.indexOf(name);
    if (at >= 0) {
      this.names.splice(at, 1);
      this.items.splice(at, 1);
    }
  }

  /** A copy that shares nothing with this one. */
  copy(): Json {
    const j = new Json();
    j.is = this.is;
    j.flag = this.flag;
    j.raw = this.raw;
    if (this.is == Is.List || this.is == Is.Object) j.items = [];
    if (this.is == Is.Object) j.names = this.names.slice(0);
    for (let i = 0; i < this.items.length; i++) j.items.push(this.items[i].copy());
    j.source = this.source;
    j.within = this.within;
    j.name = this.name;
    j.at = this.at;
    return j;
  }

  // --- what it is ---

  get isNull(): bool { return this.is == Is.Null; }
  get isBool(): bool { return this.is == Is.Bool; }
  get isNumber(): bool { return this.is == Is.Number; }
  get isText(): bool { return this.is == Is.Text; }
  get isList(): bool { return this.is == Is.List; }
  get isObject(): bool { return this.is == Is.Object; }

  get isEmpty(): bool {
    switch (this.is) {
      case Is.Bool: return !this.flag;
      case Is.Number: return parseFloat(this.raw) == 0;
      case Is.Text: return this.raw.length == 0;
      default: return this.items.length == 0;
    }
  }

  /** How many items or entries it has. */
  get length(): i32 { return this.items.length; }

  // --- reading ---

  /** An entry of an object; null where there is none. */
  get(name: string): Json {
    this.expect(Is.Object);
    const at = this.names.indexOf(name);
    if (at >= 0) return this.items[at];
    const none = new Json();
    none.source = this.source;
    none.within = this;
    none.name = name;
    return none;
  }

  /** An entry that has to be there. */
  must(name: string): Json {
    const j = this.get(name);
    if (j.isNull) this.source.complain(j.place() + " is missing");
    return j;
  }

  has(name: string): bool { return this.names.includes(name); }

  /** The names of an object, in order. */
  keys(): string[] {
    this.expect(Is.Object);
    return this.names;
  }

  /** The items of a list. */
  list(): Json[] {
    this.expect(Is.List);
    return this.items;
  }

  text(): string {
    this.expect(Is.Text);
    return this.raw;
  }

  bool(): bool {
    this.expect(Is.Bool);
    return this.flag;
  }

  number(): f64 {
    this.expect(Is.Number);
    return this.isNull ? 0 : parseFloat(this.raw);
  }

  /** A whole number; one that does not fit into 64 bits, or has a fraction, is an error. */
  integer(): i64 {
    this.expect(Is.Number);
    if (this.isNull) return 0;
    let value: i64 = 0, i = this.raw.startsWith("-") ? 1 : 0, exact = this.raw.length - i < 19;
    for (; i < this.raw.length && exact; i++) {
      const digit = this.raw.charCodeAt(i) - 48;
      exact = digit >= 0 && digit < 10;
      value = value * 10 + digit;
    }
    if (exact) return this.raw.startsWith("-") ? -value : value;
    const f = parseFloat(this.raw);
    if (f != Math.floor(f) || Math.abs(f) >= 9.2e18) this.source.complain(this.place() + " is " + this.raw + " and not a whole number");
    return <i64>f;
  }

  /** The texts of a list of texts. */
  strings(): string[] {
    const items = this.list(), out: string[] = [];
    for (let i = 0; i < items.length; i++) out.push(items[i].text());
    return out;
  }

  /** The entries of an object of texts. */
  texts(): Map<string, string> {
    const keys = this.keys(), out = new Map<string, string>();
    for (let i = 0; i < keys.length; i++) out.set(keys[i], this.items[i].text());
    return out;
  }

  // An entry of an object, as what it should be.

  str(name: string, otherwise: string = ""): string {
    const j = this.get(name);
    return j.isNull ? otherwise : j.text();
  }

  int(name: string, otherwise: i64 = 0): i64 {
    const j = this.get(name);
    return j.isNull ? otherwise : j.integer();
  }

  num(name: string, otherwise: f64 = 0): f64 {
    const j = this.get(name);
    return j.isNull ? otherwise : j.number();
  }

  yes(name: string, otherwise: bool = false): bool {
    const j = this.get(name);
    return j.isNull ? otherwise : j.bool();
  }

  /** Ends the call as invalid where an object, such as options, has other entries. */
  allow(names: string[], whose: string): void {
    const keys = this.keys();
    for (let i = 0; i < keys.length; i++) {
      if (names.includes(keys[i])) continue;
      fail(Code.Invalid, whose + " has no option \"" + keys[i] + "\"" + (names.length > 0 ? "; there are: " + names.join(", ") : ""));
    }
  }

  // --- writing ---

  /** JSON text; with an indent, over many lines. */
  toString(indent: i32 = 0): string {
    const out = new Writer();
    this.write(out, indent, 0);
    return out.toString();
  }

  private write(out: Writer, indent: i32, depth: i32): void {
    switch (this.is) {
      case Is.Null: out.text("null"); break;
      case Is.Bool: out.text(this.flag ? "true" : "false"); break;
      case Is.Number: out.text(this.raw); break;
      case Is.Text: out.quoted(this.raw); break;
      default: {
        const object = this.is == Is.Object, n = this.items.length;
        out.text(object ? "{" : "[");
        for (let i = 0; i < n; i++) {
          if (i > 0) out.text(",");
          if (indent > 0) out.line(indent * (depth + 1));
          if (object) {
            out.quoted(this.names[i]);
            out.text(indent > 0 ? ": " : ":");
          }
          this.items[i].write(out, indent, depth + 1);
        }
        if (indent > 0 && n > 0) out.line(indent * depth);
        out.text(object ? "}" : "]");
      }
    }
  }

  private expect(is: Is): void {
    if (this.is != is && this.is != Is.Null) {
      this.source.complain(this.place() + " is " + named(this.is) + " and not " + named(is));
    }
  }

  /** Where it is in what was read: machines[2].id */
  private place(): string {
    const within = this.within;
    if (within === null) return "it";
    const outer = within.within === null ? "" : within.place();
    if (within.is == Is.List) return outer + "[" + this.at.toString() + "]";
    return outer == "" ? this.name : outer + "." + this.name;
  }
}
