"""Decodes messages that rospin encoded by Cyclone DDS, and encodes them again.

Types are read from the definitions again, by code of its own: a wrong order or type of fields does not cancel out.

    cyclonedds_cdr.py DEFINITIONS... < lines

Each line is a message: its type, and its bytes in hexadecimal digits, with a tab between. The answer is a line for each, with tabs
between: the value as JSON, and its bytes as Cyclone DDS writes them, little-endian and big-endian, without the header.
"""

import dataclasses
import json
import pathlib
import re
import sys

from cyclonedds.idl import IdlStruct, types
from cyclonedds.idl._support import Endianness

PRIMITIVES = {
    "bool": bool, "byte": types.uint8, "char": types.uint8, "float32": types.float32, "float64": types.float64,
    "int8": types.int8, "uint8": types.uint8, "int16": types.int16, "uint16": types.uint16, "int32": types.int32,
    "uint32": types.uint32, "int64": types.int64, "uint64": types.uint64, "string": str,
}
PARTS = {"srv": ["Request", "Response"], "action": ["Goal", "Result", "Feedback"]}
NOTHING = "structure_needs_at_least_one_member"
# The first folder that has a definition counts.
roots = sys.argv[1:]
# Of each type by name: the class, and its fields with their names and base types.
known = {}


def text_of(package, kind, name):
    for root in roots:
        file = pathlib.Path(root) / package / kind / f"{name}.{kind}"
        if file.exists():
            return file.read_text()
    raise FileNotFoundError(f"{package}/{kind}/{name}")


def lines_of(name):
    package, kind, base = name.split("/")
    if kind == "msg":
        return text_of(package, kind, base).splitlines()
    part = next(part for part in PARTS[kind] if base.endswith(part))
    text = re.split(r"^---\s*$", text_of(package, kind, base.removesuffix(part)), flags=re.M)
    return text[PARTS[kind].index(part)].splitlines()


def base_type_of(package, written):
    """The type of one element, and what makes a JSON value of it."""
    name, _, bound = written.partition("<=")
    if name == "wstring":
        # A wide string is a sequence of UTF-16 code units in 32 bits to ROS 2. Cyclone DDS has no such type under Python.
        of = types.sequence[types.uint32, int(bound)] if bound else types.sequence[types.uint32]
        return of, lambda units: b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le")
    if name == "string" and bound:
        return types.bounded_str[int(bound)], lambda text: text
    if name in PRIMITIVES:
        return PRIMITIVES[name], lambda value: value
    words = name.split("/")
    nested = f"{words[0]}/msg/{words[-1]}" if len(words) > 1 else f"{package}/msg/{name}"
    return class_of(nested), lambda value: json_of(nested, value)


def type_of(package, written):
    """The type of a field, and what makes a JSON value of it."""
    written, shape = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", written).groups()
    of, convert = base_type_of(package, written)
    if shape is None:
        return of, convert
    many = lambda values: [convert(value) for value in values]
    if shape == "":
        return types.sequence[of], many
    if shape.startswith("<="):
        return types.sequence[of, int(shape[2:])], many
    return types.array[of, int(shape)], many


def class_of(name):
    if name not in known:
        fields = []
        for line in lines_of(name):
            words = line.split("#")[0].split()
            if words and "=" not in "".join(words[1:]):
                fields.append((words[1], *type_of(name.split("/")[0], words[0])))
        fields = fields or [(NOTHING, types.uint8, int)]
        # Names do not travel, and some are words of Python.
        members = [(f"f_{field}", of) for field, of, _ in fields]
        known[name] = (dataclasses.make_dataclass(name.replace("/", "_"), members, bases=(IdlStruct,)), fields)
    return known[name][0]


def json_of(name, message):
    return {field: convert(getattr(message, f"f_{field}")) for field, _, convert in known[name][1]}


def written(message, endianness):
    # Behind the header of four bytes is the message.
    return message.serialize(endianness=endianness, use_version_2=False)[4:].hex()


answers = []
for line in sys.stdin.read().splitlines():
    name, encoded = line.split("\t")
    message = class_of(name).deserialize(bytes.fromhex("00010000" + encoded))
    answers.append("\t".join([
        json.dumps(json_of(name, message)), written(message, Endianness.Little), written(message, Endianness.Big),
    ]))
print("\n".join(answers))
