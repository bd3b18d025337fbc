// The types of contract fetcher/1. Each field is documented in sdk/fetcher.go.

import { Json } from "./json";

/** Names a model at a source. */
export class ModelRef {
  source: string;
  name: string;
  revision: string;
  include: string[];
  exclude: string[];

  constructor(j: Json) {
    this.source = j.str("source");
    this.name = j.str("name");
    this.revision = j.str("revision");
    this.include = j.get("include").strings();
    this.exclude = j.get("exclude").strings();
  }

  /** Whether the user wants this file, by the patterns of include and exclude. */
  wants(path: string): bool {
    let wanted = this.include.length == 0;
    for (let i = 0; i < this.include.length && !wanted; i++) wanted = matches(this.include[i], path);
    for (let i = 0; i < this.exclude.length && wanted; i++) wanted = !matches(this.exclude[i], path);
    return wanted;
  }
}

/** One file of a model. */
export class ModelFile {
  sha256: string = "";
  gitSHA1: string = "";

  constructor(public path: string, public size: i64) {}

  toJson(): Json {
    return Json.object().set("path", this.path).set("size", this.size).opt("sha256", this.sha256).opt("git_sha1", this.gitSHA1);
  }
}

/** A model pinned to one revision. */
export class ResolvedModel {
  files: ModelFile[] = [];

  constructor(public name: string, public revision: string) {}

  /** The files are written sorted by path, as the contract wants. */
  toJson(): Json {
    const files = Json.list(), sorted = this.files.slice(0).sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
    for (let i = 0; i < sorted.length; i++) files.push(sorted[i].toJson());
    return Json.object().set("name", this.name).set("revision", this.revision).set("files", files);
  }
}

/** Names one file of a resolved model. */
export class FileRef {
  source: string;
  name: string;
  revision: string;
  path: string;

  constructor(j: Json) {
    this.source = j.str("source");
    this.name = j.str("name");
    this.revision = j.str("revision");
    this.path = j.str("path");
  }
}

/** Where a file can be read: https://, or file: inside the folder that the user named. */
export class Location {
  headers: Map<string, string> = new Map<string, string>();
  expiresSeconds: i64 = 0;

  constructor(public url: string) {}

  toJson(): Json {
    return Json.object().set("url", this.url).opt("headers", this.headers).opt("expires_seconds", this.expiresSeconds);
  }
}

/** Finds a model's files, and never moves them. */
export abstract class Fetcher {
  /** Pins a revision and lists the files. */
  abstract resolve(ref: ModelRef): ResolvedModel;
  /** Where one of them is now. */
  abstract locate(file: FileRef): Location;
}

/** Whether it is a plain path below a folder: no "..", no empty part, nothing absolute. */
export function isPath(path: string): bool {
  const parts = path.split("/");
  for (let i = 0; i < parts.length; i++) {
    if (parts[i] == "" || parts[i] == "." || parts[i] == "..") return false;
  }
  return !path.includes("\0") && !path.includes("\\");
}

/** A glob pattern of *, ? and [a-z]; one without a slash is of the file's name alone. */
export function matches(pattern: string, path: string): bool {
  if (!pattern.includes("/")) path = path.slice(path.lastIndexOf("/") + 1);
  return glob(pattern, 0, path, 0);
}

function glob(pattern: string, p: i32, path: string, at: i32): bool {
  for (; p < pattern.length; p++) {
    const c = pattern.charCodeAt(p);
    if (c == 0x2a) {
      const deep = p + 1 < pattern.length && pattern.charCodeAt(p + 1) == 0x2a;
      const next = p + (deep ? 2 : 1);
      if (deep && next < pattern.length && pattern.charCodeAt(next) == 0x2f && glob(pattern, next + 1, path, at)) return true;
      for (let i = at; i <= path.length; i++) {
        if (glob(pattern, next, path, i)) return true;
        if (!deep && i < path.length && path.charCodeAt(i) == 0x2f) break;
      }
      return false;
    }
    if (at >= path.length) return false;
    const is = path.charCodeAt(at++);
    if (c == 0x3f) {
      if (is == 0x2f) return false;
    } else if (c == 0x5b) {
      const end = pattern.indexOf("]", p + 2);
      if (end < 0 || is == 0x2f || !inClass(pattern.slice(p + 1, end), is)) return false;
      p = end;
    } else if (c != is) {
      return false;
    }
  }
  return at == path.length;
}

function inClass(chars: string, is: i32): bool {
  const not = chars.startsWith("^") || chars.startsWith("!");
  let found = false;
  for (let i = not ? 1 : 0; i < chars.length; i++) {
    const from = chars.charCodeAt(i);
    let to = from;
    if (i + 2 < chars.length && chars.charCodeAt(i + 1) == 0x2d) {
      to = chars.charCodeAt(i + 2);
      i += 2;
    }
    found = found || (is >= from && is <= to);
  }
  return found != not;
}
