// An expose mode whose prompt tells all that it was given, and whose surface has
// everything that a surface may have.
import {
  ExposeRequest, Exposer, Function, Hint, Json, MCPServer, Placeholder, Surface, SurfaceFile, exposer,
} from "@seer-engine/sdk";

class V1 extends Exposer {
  expose(r: ExposeRequest): Surface {
    const i = r.interface_, functions = Json.list();
    for (let k = 0; k < i.functions.length; k++) functions.push(functionJson(i.functions[k]));
    const given = Json.object().set("name", r.name).set("options", r.options).set("interface", Json.object()
      .set("module", i.module).set("doc", i.doc).set("code_hash", i.codeHash).set("functions", functions));
    const s = new Surface();
    s.files = [SurfaceFile.connection(r.name + ".connection.json"), SurfaceFile.pythonClient("client.py"), new SurfaceFile("notes/ä.txt", "text\n"),
      new SurfaceFile(".v1/settings.json", "{}"), new SurfaceFile("empty", "")];
    const own = new MCPServer(Placeholder.Seer), other = new MCPServer("node");
    own.args = ["mcp", "--connection", Placeholder.Connection];
    own.env.set("SEER_A", "b");
    other.args = ["server.js", Placeholder.Dir];
    s.mcpServers.set("own", own);
    s.mcpServers.set("other", other);
    s.prompt = given.toString();
    s.env.set("SEER_V1", Placeholder.Connection);
    s.env.set("PYTHONPATH", Placeholder.Dir);
    return s;
  }
}

function functionJson(f: Function): Json {
  const params = Json.list();
  for (let i = 0; i < f.params.length; i++) {
    const p = f.params[i];
    params.push(Json.object().set("name", p.name).set("kind", p.kind).set("annotation", p.annotation).set("has_default", p.hasDefault)
      .set("default", p.default_).set("default_repr", p.defaultRepr).set("doc", p.doc).set("schema", p.schema));
  }
  const hints = Json.object().set("read_only", hint(f.hints.readOnly)).set("destructive", hint(f.hints.destructive))
    .set("idempotent", hint(f.hints.idempotent)).set("open_world", hint(f.hints.openWorld));
  return Json.object().set("name", f.name).set("doc", f.doc).set("async", f.async_).set("stream", f.stream).set("concurrent", f.concurrent)
    .set("batch", f.batch).set("timeout_seconds", f.timeoutSeconds).set("title", f.title).set("hints", hints).set("params", params)
    .set("returns", f.returns).set("input_schema", f.inputSchema).set("output_schema", f.outputSchema).set("line", f.line);
}

function hint(h: Hint): Json { return h == Hint.Unknown ? Json.nothing() : Json.of(h == Hint.Yes); }

export function expose(): i32 { return exposer.expose(new V1()); }
