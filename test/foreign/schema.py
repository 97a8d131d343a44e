"""Holds JSON values against the schemas of a discovery document."""

import base64
import binascii
import re

WHOLE = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}


class Document:
    def __init__(self, document):
        self.document = document
        self.schemas = document["schemas"]
        self.kinds = True  # each object has the kind that its schema gives it
        self.methods = {}
        for name, resource in document["resources"].items():
            for verb, method in resource["methods"].items():
                self.methods[f"{name}.{verb}"] = method

    def faults(self, method, answer, partial=False):
        """What is wrong with a method's answer, which is partial if the call has selected fields of it."""
        self.kinds = not partial
        return list(self._value(answer, self.methods[method]["response"], "answer"))

    def _value(self, value, schema, at):
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"]]
        kind = schema["type"]
        if kind == "object":
            yield from self._object(value, schema, at)
        elif kind == "array":
            if not isinstance(value, list):
                yield f"{at}: {value!r} is not a list"
                return
            for i, item in enumerate(value):
                yield from self._value(item, schema["items"], f"{at}[{i}]")
        elif kind == "boolean":
            if not isinstance(value, bool):
                yield f"{at}: {value!r} is not a boolean"
        elif kind in ("integer", "number"):
            yield from self._number(value, schema, at)
        elif kind == "string":
            yield from self._text(value, schema, at)

    def _object(self, value, schema, at):
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is not an object"
            return
        known = schema.get("properties", {})
        kind = known.get("kind", {}).get("default")
        if kind and value.get("kind", None if self.kinds else kind) != kind:
            yield f"{at}.kind: {value.get('kind')!r} is not {kind!r}"
        for name, inner in value.items():
            property = known.get(name) or schema.get("additionalProperties")
            if property is None:
                yield f"{at}.{name}: there is no such field"
                continue
            yield from self._value(inner, property, f"{at}.{name}")

    def _number(self, value, schema, at):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield f"{at}: {value!r} is not a number"
            return
        low, high = WHOLE.get(schema.get("format"), (value, value))
        if schema["type"] == "integer" and not isinstance(value, int) or not low <= value <= high:
            yield f"{at}: {value!r} is not an {schema['format']}"

    def _text(self, value, schema, at):
        if not isinstance(value, str):
            yield f"{at}: {value!r} is not a string"
            return
        form = schema.get("format")
        if form in WHOLE:
            low, high = WHOLE[form]
            if not re.fullmatch(r"-?(0|[1-9][0-9]*)", value) or not low <= int(value) <= high:
                yield f"{at}: {value!r} is not an {form}"
        elif form == "byte":
            try:
                base64.b64decode(value, validate=True)
            except binascii.Error:
                yield f"{at}: {value!r} is not base64"
        if "enum" in schema and value not in schema["enum"]:
            yield f"{at}: {value!r} is not one of {' '.join(schema['enum'])}"


def envelope_faults(status, body):
    """What is wrong with the body of a refusal."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or set(body) != {"error"}:
        yield f"refusal: {body!r} has no error"
        return
    if error.get("code") != status:
        yield f"refusal: code {error.get('code')!r} with status {status}"
    if not error.get("message") or not error.get("errors"):
        yield f"refusal: {error!r} has no message or no errors"
    for item in error.get("errors", []):
        if not {"message", "domain", "reason"} <= set(item):
            yield f"refusal: {item!r} lacks message, domain or reason"
    foreign = re.compile(r"(?i)\b(json: |unmarshal|golang|\bgo struct\b|strconv\.|parsing \"|goroutine|0x[0-9a-f]{6}|(\d+h)?\d+m\d+s\b)")
    if foreign.search(str(error.get("message"))):
        yield f"refusal: {error['message']!r} is not Google's"
