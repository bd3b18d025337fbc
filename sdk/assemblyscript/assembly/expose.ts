// The types of contract expose/1. Each field is documented in sdk/expose.go.

import { Json } from "./json";

/** What Seer replaces in a surface. */
export namespace Placeholder {
  export const Connection: string = "{{seer.connection}}";
  export const Seer: string = "{{seer.command}}";
  export const Dir: string = "{{seer.dir}}";
}

/** Kinds of parameter, as in Python. */
export namespace ParamKind {
  export const PositionalOnly: string = "positional_only";
  export const PositionalOrKeyword: string = "positional_or_keyword";
  export const VarPositional: string = "var_positional";
  export const KeywordOnly: string = "keyword_only";
  export const VarKeyword: string = "var_keyword";
}

/** A hint that may be absent. */
export const enum Hint { Unknown, No, Yes }

/** What a function does to the world. */
export class Hints {
  readOnly: Hint;
  destructive: Hint;
  idempotent: Hint;
  openWorld: Hint;

  constructor(j: Json) {
    this.readOnly = hint(j.get("read_only"));
    this.destructive = hint(j.get("destructive"));
    this.idempotent = hint(j.get("idempotent"));
    this.openWorld = hint(j.get("open_world"));
  }
}

function hint(j: Json): Hint { return j.isNull ? Hint.Unknown : j.bool() ? Hint.Yes : Hint.No; }

/** One parameter of a function. */
export class Param {
  name: string;
  kind: string;
  annotation: string;
  hasDefault: bool;
  /** null where it is no JSON. */
  default_: Json;
  defaultRepr: string;
  doc: string;
  schema: Json;

  constructor(j: Json) {
    this.name = j.str("name");
    this.kind = j.str("kind");
    this.annotation = j.str("annotation");
    this.hasDefault = j.yes("has_default");
    this.default_ = j.get("default");
    this.defaultRepr = j.str("default_repr");
    this.doc = j.str("doc");
    this.schema = j.get("schema");
  }
}

/** One exposed function. */
export class Function {
  name: string;
  doc: string;
  async_: bool;
  stream: bool;
  concurrent: i32;
  batch: i32;
  timeoutSeconds: f64;
  title: string;
  hints: Hints;
  params: Param[] = [];
  returns: string;
  inputSchema: Json;
  outputSchema: Json;
  line: i32;

  constructor(j: Json) {
    this.name = j.str("name");
    this.doc = j.str("doc");
    this.async_ = j.yes("async");
    this.stream = j.yes("stream");
    this.concurrent = <i32>j.int("concurrent");
    this.batch = <i32>j.int("batch");
    this.timeoutSeconds = j.num("timeout_seconds");
    this.title = j.str("title");
    this.hints = new Hints(j.get("hints"));
    this.returns = j.str("returns");
    this.inputSchema = j.get("input_schema");
    this.outputSchema = j.get("output_schema");
    this.line = <i32>j.int("line");
    const params = j.get("params").list();
    for (let i = 0; i < params.length; i++) this.params.push(new Param(params[i]));
  }
}

/** The functions of a served Python file. */
export class Interface {
  module: string;
  doc: string;
  functions: Function[] = [];
  codeHash: string;

  constructor(j: Json) {
    this.module = j.str("module");
    this.doc = j.str("doc");
    this.codeHash = j.str("code_hash");
    const functions = j.get("functions").list();
    for (let i = 0; i < functions.length; i++) this.functions.push(new Function(functions[i]));
  }
}

/** An interface and how the user wants it exposed. */
export class ExposeRequest {
  name: string;
  interface_: Interface;
  /** null where there are none. */
  options: Json;

  constructor(j: Json) {
    this.name = j.str("name");
    this.interface_ = new Interface(j.get("interface"));
    this.options = j.get("options");
  }
}

/** One file of a surface; the path is relative and without "..". */
export class SurfaceFile {
  constructor(public path: string, public text: string, public kind: string = "") {}

  /** Seer's own Python client. */
  static pythonClient(path: string): SurfaceFile { return new SurfaceFile(path, "", "python_client"); }

  /** The connection file, with its token. */
  static connection(path: string): SurfaceFile { return new SurfaceFile(path, "", "connection"); }

  toJson(): Json { return Json.object().set("path", this.path).opt("kind", this.kind).opt("text", this.text); }
}

/** An MCP server that the agent starts. */
export class MCPServer {
  args: string[] = [];
  env: Map<string, string> = new Map<string, string>();

  constructor(public command: string) {}

  toJson(): Json { return Json.object().set("command", this.command).opt("args", this.args).opt("env", this.env); }
}

/** What an agent gets. */
export class Surface {
  files: SurfaceFile[] = [];
  mcpServers: Map<string, MCPServer> = new Map<string, MCPServer>();
  prompt: string = "";
  env: Map<string, string> = new Map<string, string>();

  toJson(): Json {
    const files = Json.list(), servers = Json.object(), names = this.mcpServers.keys();
    for (let i = 0; i < this.files.length; i++) files.push(this.files[i].toJson());
    for (let i = 0; i < names.length; i++) servers.set(names[i], this.mcpServers.get(names[i]).toJson());
    return Json.object().opt("files", files).opt("mcp_servers", servers).opt("prompt", this.prompt).opt("env", this.env);
  }
}

/** Turns an interface into what an agent is given. It is pure. */
export abstract class Exposer {
  abstract expose(request: ExposeRequest): Surface;
}
