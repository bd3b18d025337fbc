import { ask } from "./ask";
import { giveUp } from "./fail";
import { Json } from "./json";
import { decodeText } from "./text";

// @ts-ignore: decorator
@external("extism:host/user", "folder_list")
declare function folder_list(block: u64): u64;

// @ts-ignore: decorator
@external("extism:host/user", "folder_read")
declare function folder_read(block: u64): u64;

// @ts-ignore: decorator
@external("extism:host/user", "folder_digest")
declare function folder_digest(block: u64): u64;

/** An entry of a folder. */
export class FolderEntry {
  /** path: slash-separated, relative to the folder; type: file, dir or other. */
  constructor(public path: string, public type: string, public size: i64) {}
}

/**
 * A folder that the user named as a model, by its absolute path. It needs the
 * permission `folders`. What cannot be read ends the call.
 */
export class Folder {
  constructor(public path: string) {}

  /** The entries of a folder in it, or of itself. */
  list(inside: string = "."): FolderEntry[] {
    const items = this.ask(folder_list, inside).list(), out: FolderEntry[] = [];
    for (let i = 0; i < items.length; i++) {
      const name = items[i].str("name");
      out.push(new FolderEntry(inside == "." ? name : inside + "/" + name, items[i].str("type"), items[i].int("size")));
    }
    return out;
  }

  /** All files in it, however deep, sorted by path. */
  files(): FolderEntry[] {
    const out: FolderEntry[] = [], waiting: string[] = ["."];
    while (waiting.length > 0) {
      const entries = this.list(waiting.pop());
      for (let i = 0; i < entries.length; i++) {
        if (entries[i].type == "dir") waiting.push(entries[i].path);
        else if (entries[i].type == "file") out.push(entries[i]);
      }
    }
    return out.sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  }

  /** The content of a file of up to 1 MiB. */
  read(file: string): Uint8Array { return base64(this.ask(folder_read, file).text()); }

  readText(file: string): string { return decodeText(this.read(file)); }

  /** The SHA-256 of a file of any size, in hex. The host computes it. */
  digest(file: string): string { return this.ask(folder_digest, file).text(); }

  private ask(host: (block: u64) => u64, path: string): Json {
    const reply = ask(host, Json.object().set("folder", this.path).set("path", path));
    const fault = reply.fault;
    if (fault !== null) giveUp(fault);
    return reply.value;
  }
}

function base64(text: string): Uint8Array {
  const out = new Uint8Array(text.length / 4 * 3);
  let n = 0, bits: u32 = 0, have = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    let value = c >= 97 ? c - 71 : c >= 65 ? c - 65 : c + 4;
    if (c == 43) value = 62;
    else if (c == 47) value = 63;
    else if (c == 61) break;
    bits = bits << 6 | value;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out[n++] = <u8>(bits >> have);
    }
  }
  return out.subarray(0, n);
}
