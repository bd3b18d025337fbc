// Names of GPUs, as package sdk/gpu has them: H100-SXM, A100-80GB-PCIE, RTX-4090.

import { upper } from "./text";

class Name {
  model: string = "";
  memory: string = "";
  form: string = "";
  exact: bool = false;

  constructor(text: string) {
    let end = text.length;
    while (end > 0 && "! -_\t\r\n".includes(text.charAt(end - 1))) {
      if (text.charCodeAt(--end) == 0x21) this.exact = true;
    }
    const bare = upper(text.slice(0, end)).replaceAll("_", "-").replaceAll(" ", "-").replaceAll("\t", "-");
    const words = bare.split("-"), model: string[] = [];
    for (let i = 0; i < words.length; i++) {
      const word = words[i];
      if (word == "" || noise.includes(word)) continue;
      if (word == "PCIE" || word == "NVL") this.form = word;
      else if (sxm.includes(word)) this.form = "SXM";
      else if (isMemory(word)) this.memory = word;
      else model.push(word);
    }
    this.model = model.join("-");
    if (this.model == "A10G") this.model = "A10";
  }
}

const noise: string[] = ["NVIDIA", "AMD", "GEFORCE", "TESLA", "INSTINCT", "GENERATION", "BLACKWELL", "SERVER", "EDITION", "OAM", "GRAPHICS", "GPU"];
const sxm: string[] = ["SXM", "SXM2", "SXM4", "SXM5", "HBM3"];
const several: string[] = ["A100", "V100", "RTX-3080", "RTX-A4500"]; // come with more than one size of memory

function isMemory(word: string): bool {
  if (word.length < 3 || !word.endsWith("GB")) return false;
  for (let i = 0; i < word.length - 2; i++) {
    if (word.charCodeAt(i) < 0x30 || word.charCodeAt(i) > 0x39) return false;
  }
  return true;
}

export namespace gpu {
  /** The name under which everybody knows the GPU that a backend calls so. */
  export function canonical(text: string): string {
    const n = new Name(text);
    let out = n.model;
    if (n.memory != "" && several.includes(n.model)) out += "-" + n.memory;
    if (n.form != "") out += "-" + n.form;
    return n.exact ? out + "!" : out;
  }

  /**
   * Whether a user who writes `want` is served by `have`: "*" by every GPU, "" by a
   * machine without one. What an offer does not say is taken to be as wanted.
   */
  export function match(want: string, have: string): bool {
    if (want == "" || have == "") return want == have;
    if (want == "*") return true;
    const w = new Name(want), h = new Name(have);
    return w.model == h.model && (w.memory == "" || h.memory == "" || w.memory == h.memory) &&
      (w.form == "" || h.form == "" || w.form == h.form);
  }
}
