"""Decodes messages that rospin encoded by ROS 2 itself, and encodes them again.

    rclpy_cdr.py < lines

Each line is a message: its type, and its bytes in hexadecimal digits, with a tab between. The answer is a line for each, with a tab
between: the value as JSON, and its bytes as ROS 2 writes them, without the header; or "absent" if the type is not installed.
"""

import importlib
import json
import sys

from rclpy.serialization import deserialize_message, serialize_message

PARTS = {"msg": [""], "srv": ["Request", "Response"], "action": ["Goal", "Result", "Feedback"]}


def class_of(name):
    package, kind, base = name.split("/")
    part = next(part for part in PARTS[kind] if base.endswith(part))
    try:
        of = getattr(importlib.import_module(f"{package}.{kind}"), base.removesuffix(part))
    except (ImportError, AttributeError):
        return None
    return getattr(of, part) if part else of


def json_of(value):
    if hasattr(value, "get_fields_and_field_types"):
        fields = {name: json_of(getattr(value, name)) for name in value.get_fields_and_field_types()}
        # Classes do not have the field of a message without fields.
        return fields or {"structure_needs_at_least_one_member": 0}
    if isinstance(value, bytes):
        # A field of type `byte`.
        (value,) = value
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [json_of(one) for one in value]
    return value


def answer(line):
    name, encoded = line.split("\t")
    of = class_of(name)
    if of is None:
        return "absent"
    message = deserialize_message(bytes.fromhex("00010000" + encoded), of)
    # Behind the header of four bytes is the message.
    return json.dumps(json_of(message)) + "\t" + serialize_message(message)[4:].hex()


print("\n".join([answer(line) for line in sys.stdin.read().splitlines()]))
