"""A codec for CDR (little-endian, XCDR version 1), as far as messages of ROS 2 need it. Its bytes begin behind the four bytes of
the encapsulation header.

A message is a `SimpleNamespace`. Its kind says how it is written:

- a letter of the module `struct`, such as "i": a number or a boolean
- "s": a text
- a number: so many bytes
- [kind]: a sequence
- {name: kind}: a message. A field that a message lacks is written as zero, empty or false.
"""

import struct
from types import SimpleNamespace

LITTLE_ENDIAN = bytes([0, 1, 0, 0])


def encode(kind, message):
    out = bytearray()
    write(out, kind, message)
    return bytes(out)


def decode(kind, data):
    return Reader(data).read(kind)


def write_number(out, letter, number):
    out += bytes(-len(out) % struct.calcsize(letter))
    out += struct.pack("<" + letter, number)


def write(out, kind, value):
    """`value` is `None` for a field that is missing."""
    if kind == "s":
        text = (value or "").encode() + b"\0"
        write_number(out, "I", len(text))
        out += text
    elif isinstance(kind, str):
        write_number(out, kind, value or 0)
    elif isinstance(kind, int):
        assert value is None or len(value) == kind, (kind, value)
        out += value or bytes(kind)
    elif isinstance(kind, list):
        write_number(out, "I", len(value or []))
        for item in value or []:
            write(out, kind[0], item)
    else:
        fields = {} if value is None else vars(value)
        assert fields.keys() <= kind.keys(), (fields.keys(), kind.keys())
        for name, part in kind.items():
            write(out, part, fields.get(name))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def read_number(self, letter):
        size = struct.calcsize(letter)
        self.at += -self.at % size
        (number,) = struct.unpack_from("<" + letter, self.data, self.at)
        self.at += size
        return number

    def read_bytes(self, count):
        found = bytes(self.data[self.at : self.at + count])
        assert len(found) == count, (len(found), count)
        self.at += count
        return found

    def read(self, kind):
        if kind == "s":
            text = self.read_bytes(self.read_number("I"))
            assert text[-1:] == b"\0", text
            return text[:-1].decode()
        if isinstance(kind, str):
            return self.read_number(kind)
        if isinstance(kind, int):
            return self.read_bytes(kind)
        if isinstance(kind, list):
            return [self.read(kind[0]) for _ in range(self.read_number("I"))]
        return SimpleNamespace(**{name: self.read(part) for name, part in kind.items()})
