"""Other people's readers and writers of bags: `rosbags`, and `mcap` with `mcap_ros2`."""

import json
import sys
from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore


def read(folder: Path) -> None:
    """Prints what the readers find."""
    found = {"rosbags": [], "mcap": [], "qos": {}, "hashes": {}}
    with Reader(folder) as reader:
        found["count"] = reader.message_count
        for connection in reader.connections:
            found["qos"][connection.topic] = [
                [qos.reliability.name, qos.durability.name, qos.depth] for qos in connection.ext.offered_qos_profiles
            ]
            found["hashes"][connection.topic] = connection.digest
        store = get_typestore(Stores.ROS2_KILTED)
        for connection, time, data in reader.messages():
            message = store.deserialize_cdr(data, connection.msgtype)
            found["rosbags"].append([connection.topic, time, message.data])
    for path in sorted(folder.glob("*.mcap")):
        with path.open("rb") as file:
            mcap = make_reader(file, decoder_factories=[DecoderFactory()])
            assert mcap.get_header().profile == "ros2"
            for schema, channel, message, decoded in mcap.iter_decoded_messages():
                assert schema.encoding == "ros2msg" and channel.message_encoding == "cdr"
                assert set(channel.metadata) == {"offered_qos_profiles", "topic_type_hash"}
                found["mcap"].append([channel.topic, message.log_time, decoded.data])
            assert [item.name for item in mcap.iter_metadata()] == ["rosbag2"]
    json.dump(found, sys.stdout)


def write(folder: Path, kind: str, version: str, compression: str) -> None:
    """Writes ten messages, and one on a latched topic."""
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    store = get_typestore(Stores.ROS2_KILTED)
    text = store.types["std_msgs/msg/String"]
    endless = QosTime(9223372036, 854775807)
    qos = Qos(
        QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL,
        endless, endless, QosLiveliness.AUTOMATIC, endless, False,
    )
    writer = Writer(folder, version=int(version), storage_plugin=plugin)
    writer.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
    with writer:
        chatter = writer.add_connection("/chatter", text.__msgtype__, typestore=store)
        latched = writer.add_connection(
            "/latched", text.__msgtype__, typestore=store, offered_qos_profiles=[qos])
        writer.write(latched, 1_000_000_000, store.serialize_cdr(text("map"), text.__msgtype__))
        for number in range(10):
            data = store.serialize_cdr(text(f"hello {number}"), text.__msgtype__)
            writer.write(chatter, 1_000_000_000 + number * 100_000_000, data)


if sys.argv[1] == "read":
    read(Path(sys.argv[2]))
else:
    write(Path(sys.argv[2]), *sys.argv[3:])
