const hex = "0123456789abcdef";

/** Text that grows. Adding to a string copies it each time. */
export class Writer {
  private units: StaticArray<u16> = new StaticArray<u16>(256);
  private used: i32 = 0;

  toString(): string { return String.UTF16.decodeUnsafe(changetype<usize>(this.units), <usize>this.used << 1); }

  text(text: string): void { this.part(text, 0, text.length); }

  /** A new line that begins with so many spaces. */
  line(spaces: i32): void {
    this.text("\n");
    for (let i = 0; i < spaces; i++) this.text(" ");
  }

  /** A text in JSON's quotes. Half a surrogate pair is escaped: it has no UTF-8. */
  quoted(text: string): void {
    let from = 0;
    this.text("\"");
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c >= 0x20 && c != 0x22 && c != 0x5c && (c & 0xf800) != 0xd800) continue;
      if ((c & 0xfc00) == 0xd800 && i + 1 < text.length && (text.charCodeAt(i + 1) & 0xfc00) == 0xdc00) {
        i++;
        continue;
      }
      this.part(text, from, i);
      this.escape(c);
      from = i + 1;
    }
    this.part(text, from, text.length);
    this.text("\"");
  }

  private escape(c: i32): void {
    switch (c) {
      case 0x22: return this.text("\\\"");
      case 0x5c: return this.text("\\\\");
      case 0x0a: return this.text("\\n");
      case 0x0d: return this.text("\\r");
      case 0x09: return this.text("\\t");
    }
    this.text("\\u");
    for (let shift = 12; shift >= 0; shift -= 4) this.part(hex, c >> shift & 15, (c >> shift & 15) + 1);
  }

  private part(text: string, from: i32, to: i32): void {
    const more = to - from;
    if (this.used + more > this.units.length) {
      const grown = new StaticArray<u16>(max(2 * this.units.length, this.used + more));
      memory.copy(changetype<usize>(grown), changetype<usize>(this.units), <usize>this.used << 1);
      this.units = grown;
    }
    memory.copy(changetype<usize>(this.units) + (<usize>this.used << 1), changetype<usize>(text) + (<usize>from << 1), <usize>more << 1);
    this.used += more;
  }
}

/** The parts of a text in one: for many, quicker than join. */
export function concat(parts: string[]): string {
  const out = new Writer();
  for (let i = 0; i < parts.length; i++) out.text(parts[i]);
  return out.toString();
}
