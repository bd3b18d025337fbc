/** The text of UTF-8 bytes. What is not valid becomes U+FFFD, like everywhere. */
export function decodeText(bytes: Uint8Array): string {
  const start = bytes.dataStart, end = start + bytes.length;
  let at = start;
  while (at < end && load<u8>(at) < 0x80) at++;
  if (at == end) return String.UTF8.decodeUnsafe(start, end - start);
  const out = new Array<u16>();
  for (at = start; at < end;) {
    const first = <u32>load<u8>(at++);
    if (first < 0x80) {
      out.push(<u16>first);
      continue;
    }
    const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    let code = first & (0x3f >> more), left = more;
    if (first < 0xc2 || first > 0xf4) left = -1;
    while (left > 0 && at < end && (load<u8>(at) & 0xc0) == 0x80) {
      const next = <u32>load<u8>(at);
      // Neither longer than needed, nor a surrogate, nor beyond the last character.
      if (left == more && ((first == 0xe0 && next < 0xa0) || (first == 0xed && next > 0x9f) ||
        (first == 0xf0 && next < 0x90) || (first == 0xf4 && next > 0x8f))) break;
      code = code << 6 | (next & 0x3f);
      at++;
      left--;
    }
    if (left != 0) {
      out.push(0xfffd);
    } else if (code > 0xffff) {
      code -= 0x10000;
      out.push(<u16>(0xd800 | code >> 10));
      out.push(<u16>(0xdc00 | (code & 0x3ff)));
    } else {
      out.push(<u16>code);
    }
  }
  return String.UTF16.decodeUnsafe(out.dataStart, <usize>out.length << 1);
}

/** The text in UTF-8. Half a surrogate pair becomes U+FFFD. */
export function encodeText(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
}

/** A text in small letters; of ASCII only, which needs no tables. */
export function lower(text: string): string { return shift(text, 65, 32); }

/** A text in capitals, likewise. */
export function upper(text: string): string { return shift(text, 97, -32); }

function shift(text: string, first: i32, by: i32): string {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    out += String.fromCharCode(c >= first && c < first + 26 ? c + by : c);
  }
  return out;
}

/** One short line of what somebody else said. */
export function oneLine(text: string, longest: i32 = 300): string {
  let out = "", gap = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c <= 0x20 || c == 0x7f) {
      gap = out.length > 0;
      continue;
    }
    if (gap) out += " ";
    gap = false;
    out += String.fromCharCode(c);
    if (out.length >= longest && (c & 0xfc00) != 0xd800) return out + "…";
  }
  return out.endsWith(".") ? out.slice(0, out.length - 1) : out;
}
