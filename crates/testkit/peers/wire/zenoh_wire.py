"""What all nodes over Eclipse Zenoh have as rmw_zenoh_cpp has it: the session, the attachments, and the quality of service in tokens."""

import json
import struct
import time

import zenoh

DOMAIN = 0
# Quality of service in a token: reliable, keeping the last 10, and volatile; what is as usual is left out.
QOS = "::,10:,:,:,,"


def open_session(endpoint):
    """A session that connects to that endpoint alone."""
    config = zenoh.Config()
    for setting, value in [
        ("mode", "peer"),
        ("connect/endpoints", [endpoint]),
        ("listen/endpoints", []),
        ("scouting/multicast/enabled", False),
        ("timestamping/enabled", True),
    ]:
        config.insert_json5(setting, json.dumps(value))
    return zenoh.open(config)


def attachment(number, gid):
    return struct.pack("<qqB", number, time.time_ns(), len(gid)) + gid


def read_attachment(attached):
    """The number, and whom it is from."""
    attached = attached.to_bytes()
    assert len(attached) == 33, attached
    number, sent_ns, length = struct.unpack_from("<qqB", attached)
    assert length == 16 and abs(time.time_ns() - sent_ns) < 3600e9, attached
    return number, attached[17:]
