"""The interfaces of ROS 2 that the peer uses, with the hashes of their types, as in the JSON files that ROS 2 installs."""

from collections import namedtuple

# A message, or a service as the kinds of its requests and responses. `kind` is one of `cdr`.
Message = namedtuple("Message", "name hash kind")
Service = namedtuple("Service", "name hash request response")


def dds_name(name):
    """`std_msgs/msg/String` as DDS and Zenoh have it."""
    package, kind, base = name.split("/")
    return f"{package}::{kind}::dds_::{base}_"


# Messages without fields have this one.
EMPTY = {"structure_needs_at_least_one_member": "B"}
TIME = {"sec": "i", "nanosec": "I"}

String = Message(
    "std_msgs/msg/String", "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18", {"data": "s"}
)
SetBool = Service(
    "std_srvs/srv/SetBool",
    "RIHS01_abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a",
    {"data": "?"},
    {"success": "?", "message": "s"},
)

# Parameters.
VALUE = {
    "type": "B",
    "bool_value": "?",
    "integer_value": "q",
    "double_value": "d",
    "string_value": "s",
    "byte_array_value": ["B"],
    "bool_array_value": ["?"],
    "integer_array_value": ["q"],
    "double_array_value": ["d"],
    "string_array_value": ["s"],
}
DESCRIPTOR = {
    "name": "s",
    "type": "B",
    "description": "s",
    "additional_constraints": "s",
    "read_only": "?",
    "dynamic_typing": "?",
    "floating_point_range": [{"from_value": "d", "to_value": "d", "step": "d"}],
    "integer_range": [{"from_value": "q", "to_value": "q", "step": "Q"}],
}
SET_RESULT = {"successful": "?", "reason": "s"}
GetParameters = Service(
    "rcl_interfaces/srv/GetParameters",
    "RIHS01_bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc",
    {"names": ["s"]},
    {"values": [VALUE]},
)
GetParameterTypes = Service(
    "rcl_interfaces/srv/GetParameterTypes",
    "RIHS01_da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca",
    {"names": ["s"]},
    {"types": ["B"]},
)
ListParameters = Service(
    "rcl_interfaces/srv/ListParameters",
    "RIHS01_3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d",
    {"prefixes": ["s"], "depth": "Q"},
    {"result": {"names": ["s"], "prefixes": ["s"]}},
)
DescribeParameters = Service(
    "rcl_interfaces/srv/DescribeParameters",
    "RIHS01_845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff",
    {"names": ["s"]},
    {"descriptors": [DESCRIPTOR]},
)
SetParameters = Service(
    "rcl_interfaces/srv/SetParameters",
    "RIHS01_56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0",
    {"parameters": [{"name": "s", "value": VALUE}]},
    {"results": [SET_RESULT]},
)
SetParametersAtomically = Service(
    "rcl_interfaces/srv/SetParametersAtomically",
    "RIHS01_0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd",
    {"parameters": [{"name": "s", "value": VALUE}]},
    {"result": SET_RESULT},
)

# Actions: three services and two topics.
GOAL_INFO = {"goal_id": 16, "stamp": TIME}
SendGoal = Service(
    "test_msgs/action/Fibonacci_SendGoal",
    "RIHS01_d807633803e38e164276573cd97e9fbd71e109c290bbf4cc312a0a1c9da7bbd9",
    {"goal_id": 16, "order": "i"},
    {"accepted": "?", "stamp": TIME},
)
GetResult = Service(
    "test_msgs/action/Fibonacci_GetResult",
    "RIHS01_5d30fdeb21d20e117aa5f36c7b4f0b6874f1a8cf7a9c038d58f1156c5737b209",
    {"goal_id": 16},
    {"status": "b", "sequence": ["i"]},
)
CancelGoal = Service(
    "action_msgs/srv/CancelGoal",
    "RIHS01_573d8b0a534451d7bc2ac8c5ffde8ac14b8593b7001175d0cd6516dcbeb8689a",
    {"goal_info": GOAL_INFO},
    {"return_code": "b", "goals_canceling": [GOAL_INFO]},
)
FeedbackMessage = Message(
    "test_msgs/action/Fibonacci_FeedbackMessage",
    "RIHS01_37487bae8cea358366b97003c1ef1ca7ce7c08df36f9e8cca496624226aee64e",
    {"goal_id": 16, "sequence": ["i"]},
)
GoalStatusArray = Message(
    "action_msgs/msg/GoalStatusArray",
    "RIHS01_6c1684b00f177d37438febe6e709fc4e2b0d4248dca4854946f9ed8b30cda83e",
    {"status_list": [{"goal_info": GOAL_INFO, "status": "b"}]},
)

# Managed nodes.
STATE = {"id": "B", "label": "s"}
GetState = Service(
    "lifecycle_msgs/srv/GetState",
    "RIHS01_800a0a5aae599782b02932de0caf563f6dc4e7e94b794eadde075ba2cbef9795",
    EMPTY,
    {"current_state": STATE},
)
ChangeState = Service(
    "lifecycle_msgs/srv/ChangeState",
    "RIHS01_356fe34f0475a43acf54542013af4167b0e729f77ea22ffb045c6ad8e20668e5",
    {"transition": {"id": "B", "label": "s"}},
    {"success": "?"},
)

# Descriptions of types.
FIELD_TYPE = {"type_id": "B", "capacity": "Q", "string_capacity": "Q", "nested_type_name": "s"}
DESCRIPTION = {"type_name": "s", "fields": [{"name": "s", "type": FIELD_TYPE, "default_value": "s"}]}
GetTypeDescription = Service(
    "type_description_interfaces/srv/GetTypeDescription",
    "RIHS01_69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5",
    {"type_name": "s", "type_hash": "s", "include_type_sources": "?"},
    {
        "successful": "?",
        "failure_reason": "s",
        "type_description": {"type_description": DESCRIPTION, "referenced_type_descriptions": [DESCRIPTION]},
        "type_sources": [{"type_name": "s", "encoding": "s", "raw_file_contents": "s"}],
        "extra_information": [{"key": "s", "value": "s"}],
    },
)

# The nodes of a process, as the middlewares over DDS announce them.
NODE_ENTITIES = {"node_namespace": "s", "node_name": "s", "reader_gid_seq": [16], "writer_gid_seq": [16]}
ParticipantEntitiesInfo = Message(
    "rmw_dds_common/msg/ParticipantEntitiesInfo",
    "RIHS01_91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e",
    {"gid": 16, "node_entities_info_seq": [NODE_ENTITIES]},
)
