import { Is, Json, Source } from "./json";

const deepest = 200;

/** Reads JSON, strictly. */
export class Parser {
  private at: i32 = 0;
  private depth: i32 = 0;
  private bad: bool = false;
  private large: Json | null = null; // the object whose names are in places
  private places: Map<string, i32> = new Map<string, i32>();

  constructor(private text: string, private source: Source) {}

  /** The whole text as one value; null where it is none. */
  all(): Json | null {
    const value = this.value(null, "", 0);
    this.space();
    return this.bad || this.at < this.text.length ? null : value;
  }

  private value(within: Json | null, name: string, at: i32): Json {
    const j = new Json();
    j.source = this.source;
    j.within = within;
    j.name = name;
    j.at = at;
    this.space();
    const c = this.peek();
    if (c == 0x7b || c == 0x5b) {
      if (++this.depth > deepest) this.bad = true;
      if (!this.bad) this.inside(j, c == 0x7b);
      this.depth--;
    } else if (c == 0x22) {
      j.is = Is.Text;
      j.raw = this.string();
    } else if (this.word("true") || this.word("false")) {
      j.is = Is.Bool;
      j.flag = c == 0x74;
    } else if (!this.word("null")) {
      j.is = Is.Number;
      j.raw = this.number();
    }
    return j;
  }

  /** A list or an object, from its opening bracket on. */
  private inside(j: Json, object: bool): void {
    j.is = object ? Is.Object : Is.List;
    j.items = [];
    if (object) j.names = [];
    const close = object ? 0x7d : 0x5d;
    this.at++;
    this.space();
    if (this.take(close)) return;
    while (!this.bad) {
      let name = "";
      if (object) {
        this.space();
        name = this.string();
        this.space();
        if (!this.take(0x3a)) this.bad = true;
      }
      const value = this.value(j, name, j.items.length);
      if (object) this.entry(j, name, value);
      else j.items.push(value);
      this.space();
      if (this.take(close)) return;
      if (!this.take(0x2c)) this.bad = true;
    }
  }

  /** Of one name, the last counts. To look for it is cheap in all but a huge object. */
  private entry(j: Json, name: string, value: Json): void {
    if (j.items.length < 64) return j.put(name, value);
    if (this.large !== j) {
      this.large = j;
      this.places.clear();
      for (let i = 0; i < j.names.length; i++) this.places.set(j.names[i], i);
    }
    if (this.places.has(name)) {
      j.items[this.places.get(name)] = value;
    } else {
      this.places.set(name, j.items.length);
      j.names.push(name);
      j.items.push(value);
    }
  }

  private string(): string {
    if (!this.take(0x22)) {
      this.bad = true;
      return "";
    }
    let out = "", from = this.at;
    while (this.at < this.text.length) {
      const c = this.text.charCodeAt(this.at++);
      if (c == 0x22) return out + this.text.slice(from, this.at - 1);
      if (c < 0x20) break;
      if (c != 0x5c) continue;
      out += this.text.slice(from, this.at - 1) + this.escape();
      from = this.at;
    }
    this.bad = true;
    return "";
  }

  private escape(): string {
    const c = this.peek();
    this.at++;
    switch (c) {
      case 0x22: return "\"";
      case 0x5c: return "\\";
      case 0x2f: return "/";
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
      case 0x75: {
        let code = 0;
        for (let i = 0; i < 4; i++) {
          const d = this.peek() | 0x20;
          this.at++;
          if (d >= 0x30 && d <= 0x39) code = code << 4 | d - 0x30;
          else if (d >= 0x61 && d <= 0x66) code = code << 4 | d - 0x57;
          else this.bad = true;
        }
        return String.fromCharCode(code);
      }
    }
    this.bad = true;
    return "";
  }

  private number(): string {
    const from = this.at;
    this.take(0x2d);
    if (!this.take(0x30)) this.digits();
    if (this.take(0x2e)) this.digits();
    if ((this.peek() | 0x20) == 0x65) {
      this.at++;
      if (!this.take(0x2b)) this.take(0x2d);
      this.digits();
    }
    return this.text.slice(from, this.at);
  }

  private digits(): void {
    const from = this.at;
    while (this.peek() >= 0x30 && this.peek() <= 0x39) this.at++;
    if (this.at == from) this.bad = true;
  }

  private space(): void {
    for (let c = this.peek(); c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09; c = this.peek()) this.at++;
  }

  private peek(): i32 { return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1; }

  private take(c: i32): bool {
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  private word(word: string): bool {
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }
}
