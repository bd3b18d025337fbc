import { Json } from "@seer-engine/sdk";

// With `strict` the API makes sure that arguments fit their schema, and refuses a request whose
// schema goes beyond the part of JSON Schema that it can do that for. What is in doubt is not in it.

const keys: string[] = ["type", "title", "description", "enum", "const", "anyOf", "items", "properties", "required", "additionalProperties",
  "$ref", "$defs", "pattern", "format", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "minItems", "maxItems"];
const types: string[] = ["string", "number", "integer", "boolean", "null", "object", "array"];
const formats: string[] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
const deepest = 10, mostProperties = 5000, mostValues = 1000;

/** Whether arguments of this schema can be asked for strictly. */
export function qualifies(schema: Json): bool {
  const check = new Check();
  check.node(schema, 0);
  return check.good && check.properties <= mostProperties && check.values <= mostValues;
}

class Check {
  good: bool = true;
  properties: i32 = 0;
  values: i32 = 0;

  node(s: Json, depth: i32): void {
    if (!s.isObject || depth > deepest) {
      this.good = false;
      return;
    }
    const names = s.keys();
    for (let i = 0; i < names.length; i++) this.good = this.good && keys.includes(names[i]);
    if (s.has("$defs")) this.all(s.get("$defs"), depth);
    if (!this.good) return;
    if (s.has("$ref")) {
      // Beside a reference there may be nothing; at the root, not even that.
      this.good = depth > 0 && s.length == 1 && s.get("$ref").isText && (s.str("$ref") == "#" || s.str("$ref").startsWith("#/$defs/"));
    } else if (s.has("anyOf")) {
      this.variants(s.get("anyOf"), depth);
    } else {
      this.typed(s, depth);
    }
  }

  private all(defs: Json, depth: i32): void {
    if (!defs.isObject) {
      this.good = false;
      return;
    }
    const names = defs.keys();
    for (let i = 0; i < names.length && this.good; i++) this.node(defs.get(names[i]), depth + 1);
  }

  private variants(anyOf: Json, depth: i32): void {
    if (!anyOf.isList || anyOf.length == 0 || depth == 0) {
      this.good = false;
      return;
    }
    for (let i = 0; i < anyOf.length; i++) this.node(anyOf.list()[i], depth + 1);
  }

  private typed(s: Json, depth: i32): void {
    const type = s.get("type");
    if (s.get("enum").isList) this.values += s.get("enum").length;
    if (type.isText) {
      this.one(type.text(), s, depth);
    } else if (type.isList && type.length > 0 && depth > 0) {
      for (let i = 0; i < type.length && this.good; i++) {
        if (type.list()[i].isText) this.one(type.list()[i].text(), s, depth);
        else this.good = false;
      }
    } else {
      this.good = this.good && depth > 0 && (s.get("enum").isList || s.has("const"));
    }
  }

  private one(type: string, s: Json, depth: i32): void {
    this.good = this.good && types.includes(type) && (depth > 0 || type == "object");
    if (type == "object") this.object(s, depth);
    else if (type == "array") this.node(s.get("items"), depth + 1);
    else if (type == "string") this.text(s);
  }

  private text(s: Json): void {
    if (s.has("format")) this.good = this.good && s.get("format").isText && formats.includes(s.str("format"));
    if (s.has("pattern")) this.good = this.good && s.get("pattern").isText && !s.str("pattern").includes("(?");
  }

  /** All properties are there, and no others. */
  private object(s: Json, depth: i32): void {
    const closed = s.get("additionalProperties"), properties = s.get("properties"), required = s.get("required");
    if (!closed.isBool || closed.bool() || !properties.isObject || !required.isList) {
      this.good = false;
      return;
    }
    const names = properties.keys();
    this.properties += names.length;
    for (let i = 0; i < names.length && this.good; i++) {
      this.good = contains(required, names[i]);
      if (this.good) this.node(properties.get(names[i]), depth + 1);
    }
  }
}

function contains(list: Json, text: string): bool {
  for (let i = 0; i < list.length; i++) {
    if (list.list()[i].isText && list.list()[i].text() == text) return true;
  }
  return false;
}
