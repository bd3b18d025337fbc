// The expose mode `openai`: a Python package whose `tools` are the served functions in the form
// of the OpenAI API, and whose `call` runs the function that the model has chosen.
import { Code, ExposeRequest, Exposer, Json, Surface, SurfaceFile, exposer, fail } from "@seer-engine/sdk";
import { module } from "./python";
import { Tool, toolsOf } from "./tool";
import { guide } from "./guide";

class Mode extends Exposer {
  expose(request: ExposeRequest): Surface {
    const name = request.name, options = request.options;
    if (!isName(name)) fail(Code.Invalid, "\"" + name + "\" cannot be imported in Python; choose another `name:` of letters, digits and underscores");
    if (name == "openai") fail(Code.Invalid, "a package called openai would hide that of OpenAI; choose another `name:`");
    options.allow(["api"], "the mode openai");
    const api = options.str("api", "chat");
    if (api != "chat" && api != "responses") fail(Code.Invalid, "the option api is \"" + api + "\", and not chat or responses");

    const tools = toolsOf(request.interface_), list = Json.list(), table = Json.object();
    for (let i = 0; i < tools.length; i++) {
      list.push(tools[i].toJson(api));
      table.set(tools[i].name, tools[i].binding());
    }
    const text = guide(name, api, tools), surface = new Surface();
    surface.files = [
      new SurfaceFile(name + "/tools.json", list.toString(2) + "\n"),
      new SurfaceFile(name + "/functions.json", table.toString(2) + "\n"),
      new SurfaceFile(name + "/__init__.py", module),
      new SurfaceFile(name + "/README.md", text),
      SurfaceFile.pythonClient(name + "/_client.py"),
      SurfaceFile.connection(name + "/connection.json"),
    ];
    surface.prompt = text;
    return surface;
  }
}

const keywords: string[] = ("False None True and as assert async await break class continue def del elif else except finally for from " +
  "global if import in is lambda nonlocal not or pass raise return try while with yield").split(" ");

/** Whether Python can import it. What is beyond ASCII was checked by whoever chose the name. */
function isName(text: string): bool {
  if (text == "" || keywords.includes(text)) return false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i), letter = (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c == 95 || c > 127;
    if (!letter && !(i > 0 && c >= 48 && c <= 57)) return false;
  }
  return true;
}

export function expose(): i32 { return exposer.expose(new Mode()); }
