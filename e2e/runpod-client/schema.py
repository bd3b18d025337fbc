"""Request bodies from JSON Schemas."""
import copy

UNKNOWN = "x"  # a string of which the schema says nothing


def merged(schema, defs):
    """One object of what $ref and allOf put together."""
    if "$ref" in schema:
        schema = {**merged(defs[schema["$ref"].split("/")[-1]], defs), **{k: v for k, v in schema.items() if k != "$ref"}}
    out = {k: v for k, v in schema.items() if k != "allOf"}
    out["properties"] = dict(schema.get("properties", {}))
    out["required"] = list(schema.get("required", []))
    for part in schema.get("allOf", []):
        part = merged(part, defs)
        out["properties"].update(part.pop("properties"))
        out["required"] += part.pop("required")
        for key, value in part.items():
            out.setdefault(key, value)
    return out


def fields(schema, defs, path=""):
    """Where a body may have a field: name, gpu.count, mounts.network.path …"""
    schema = merged(schema, defs)
    found = set()
    for name, sub in schema["properties"].items():
        at = path + "." + name if path else name
        found |= {at} | fields(sub, defs, at)
    if "items" in schema:
        found |= fields(schema["items"], defs, path)
    return found


def variants(schema, defs, known, name="body"):
    """Values of a schema: the smallest, then that with each optional field alone. known gives values
    that no schema can tell, and fields without which a small one is not good for anything."""
    schema = merged(schema, defs)
    if name in known["values"]:
        return known["values"][name]
    if "enum" in schema:
        return schema["enum"]
    kind = schema.get("type", "object")
    if kind == "object" and not schema["properties"]:
        return [{}, {"A_1": "b c"}]
    if kind == "object":
        return objects(schema, defs, known, name)
    if kind == "array":
        return schema.get("examples", []) + [[item] for item in variants(schema["items"], defs, known, name + "[]") if item != UNKNOWN]
    if kind == "boolean":
        return [False, True]
    if kind == "integer":
        return [schema.get("minimum", 1)]
    if isinstance(kind, list):  # a string or null
        return [None]
    return schema.get("examples", [UNKNOWN])[:1]


def objects(schema, defs, known, name):
    of = {key: variants(sub, defs, known, key) for key, sub in schema["properties"].items()}
    needed = schema["required"] + known["needed"].get(name, [])
    smallest = {key: of[key][0] for key in needed}
    bodies = [smallest] if needed or schema.get("minProperties", 0) == 0 else []
    for key, values in of.items():
        for value in values:
            body = copy.deepcopy(smallest)
            body[key] = value
            for other in known["instead"].get(key, []):
                body.pop(other, None)
            if body not in bodies:
                bodies.append(body)
    return bodies
