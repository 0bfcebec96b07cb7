"""Encodes messages by Cyclone DDS and compares them with what rospin wrote.

Types are read from the definitions again, by code of its own: a wrong order or type of fields does not cancel out.

    cyclonedds_cdr.py DEFINITIONS... < lines

Each line is a message: its type, its value as JSON, and its bytes in hexadecimal digits, with tabs between. Prints how many
messages were compared, and how many types were left out, for Cyclone DDS has no wide strings under Python.
"""

import dataclasses
import json
import pathlib
import re
import sys

from cyclonedds.idl import IdlStruct, types

PRIMITIVES = {
    "bool": bool, "byte": types.uint8, "char": types.uint8, "float32": types.float32, "float64": types.float64,
    "int8": types.int8, "uint8": types.uint8, "int16": types.int16, "uint16": types.uint16, "int32": types.int32,
    "uint32": types.uint32, "int64": types.int64, "uint64": types.uint64, "string": str,
}
PARTS = {"srv": ["Request", "Response"], "action": ["Goal", "Result", "Feedback"]}
roots = [pathlib.Path(root) for root in sys.argv[1:]]
known = {}


class Unsupported(Exception):
    pass


def text_of(package, kind, name):
    for root in roots:
        file = root / package / kind / f"{name}.{kind}"
        if file.exists():
            text = file.read_text()
            if name == "TransitionEvent":
                # As Jazzy has it, unlike both trees.
                text = re.sub(r"builtin_interfaces/Time \w+", "uint64 timestamp", text)
            return text
    raise FileNotFoundError(f"{package}/{kind}/{name}")


def lines_of(name):
    package, kind, base = name.split("/")
    if kind == "msg":
        return text_of(package, kind, base).splitlines()
    part = next(part for part in PARTS[kind] if base.endswith(part))
    text = re.split(r"^---\s*$", text_of(package, kind, base.removesuffix(part)), flags=re.M)
    return text[PARTS[kind].index(part)].splitlines()


def type_of(package, written):
    base, shape = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", written).groups()
    bound = re.fullmatch(r"(w?string)<=(\d+)", base)
    if base.startswith("wstring"):
        raise Unsupported(written)
    if bound:
        of = types.bounded_str[int(bound.group(2))]
    elif base in PRIMITIVES:
        of = PRIMITIVES[base]
    else:
        words = base.split("/")
        of = class_of(f"{words[0]}/msg/{words[-1]}" if len(words) > 1 else f"{package}/msg/{base}")
    if shape is None:
        return of
    if shape == "":
        return types.sequence[of]
    if shape.startswith("<="):
        return types.sequence[of, int(shape[2:])]
    return types.array[of, int(shape)]


def class_of(name):
    if name not in known:
        fields = []
        for line in lines_of(name):
            words = line.split("#")[0].split()
            if words and "=" not in "".join(words[1:]):
                # Names do not travel, and some are words of Python.
                fields.append((f"f_{words[1]}", type_of(name.split("/")[0], words[0])))
        fields = fields or [("f_structure_needs_at_least_one_member", types.uint8)]
        made = dataclasses.make_dataclass(name.replace("/", "_"), fields, bases=(IdlStruct,))
        known[name] = (made, fields)
    return known[name][0]


def value_of(of, value):
    if isinstance(value, dict):
        fields = next(fields for made, fields in known.values() if made is of)
        return of(**{field: value_of(kind, value[field.removeprefix("f_")]) for field, kind in fields})
    if isinstance(value, list):
        (shape,) = of.__metadata__
        return [value_of(shape.subtype, one) for one in value]
    return value


compared, left_out = 0, set()
for line in sys.stdin:
    name, value, expected = line.rstrip("\n").split("\t")
    try:
        of = class_of(name)
    except Unsupported:
        left_out.add(name)
        continue
    message = value_of(of, json.loads(value))
    written = message.serialize(use_version_2=False)
    # The header says little-endian; behind it is the message, and zeros up to a multiple of four.
    header, body = written[:4], written[4:]
    expected = bytes.fromhex(expected)
    assert header[:2] == b"\x00\x01", header
    assert body[: len(expected)] == expected and not any(body[len(expected):]) and len(body) - len(expected) < 4, (
        f"{name}: {value}\n rospin  {expected.hex()}\n cyclone {body.hex()}"
    )
    compared += 1
print(compared, len(left_out))
