import { Writer } from "@seer-engine/sdk";
import { Tool, cleaned } from "./tool";

const mostTools = 128;

/** What a program's author, or an agent that writes one, must know. */
export function guide(name: string, api: string, tools: Tool[]): string {
  let text = "# " + name + "\n\nThese functions run in a sandbox. The Python package `" + name +
    "` has them as tools of the OpenAI API (" + (api == "chat" ? "Chat Completions" : "Responses") + "): `" + name +
    ".tools` is what the API is given, and `" + name + ".call` runs what the model has chosen. State that they keep stays between calls.\n\n";
  text += "```python\nfrom openai import OpenAI\n\nfrom " + name + " import call, tools\n\n" + (api == "chat" ? chat : responses) + "```\n\n";
  text += "`call` gives JSON text, also `{\"error\": …}` of a function that failed, so that the model can try again; `run` gives the value itself " +
    "and raises. `" + name + "/tools.json` is the list for programs in other languages.\n";
  if (tools.length > mostTools) {
    text += "\nThe API takes at most " + mostTools.toString() + " tools in one request, and there are " + tools.length.toString() + ": choose some of them.\n";
  }
  if (tools.length > 0) text += "\n| tool | |\n|---|---|\n";
  const out = new Writer();
  out.text(text);
  for (let i = 0; i < tools.length; i++) out.text("| `" + tools[i].name + "` | " + summary(tools[i]) + " |\n");
  return out.toString();
}

/** The function's own name where it is another, and the first line of its documentation. */
function summary(t: Tool): string {
  let line = cleaned(t.f.doc).split("\n")[0].trim().replaceAll("|", "\\|");
  // It stands in a prompt in which Seer fills in its placeholders: none of them is meant here.
  line = line.replaceAll("{{", "{ {");
  return t.name == t.f.name ? line : "the function `" + t.f.name + "`" + (line == "" ? "" : ": " + line);
}

const chat = `client = OpenAI()
messages = [{"role": "user", "content": "…"}]
while True:
    message = client.chat.completions.create(model="…", messages=messages, tools=tools).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for wanted in message.tool_calls:
        content = call(wanted.function.name, wanted.function.arguments)
        messages.append({"role": "tool", "tool_call_id": wanted.id, "content": content})
print(message.content)
`;

const responses = `client = OpenAI()
items = [{"role": "user", "content": "…"}]
while True:
    response = client.responses.create(model="…", input=items, tools=tools)
    items += response.output
    wanted = [item for item in response.output if item.type == "function_call"]
    if not wanted:
        break
    for item in wanted:
        items.append({"type": "function_call_output", "call_id": item.call_id, "output": call(item.name, item.arguments)})
print(response.output_text)
`;
