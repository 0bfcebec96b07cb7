"""Writes the Rust code of message packages, which rclrs needs and the wheels of ROS 2 lack.

    messages.py ROS OUT PACKAGE...

ROS is the folder of a ROS 2, whose type descriptions and definitions are read. For each package, OUT/share/PACKAGE/rust gets what
rosidl_generator_rs would write, as far as the crate `ros-env` includes it: types with Rust's strings and vectors in `msg.rs`, `srv.rs` and
`action.rs`, and types of the same names with the layout of C in `msg/rmw.rs` and so on. With OUT in AMENT_PREFIX_PATH, `ros-env` finds them.
"""

import json
import re
import sys
from pathlib import Path

PRIMITIVES = {
    2: "i8", 3: "u8", 4: "i16", 5: "u16", 6: "i32", 7: "u32", 8: "i64", 9: "u64", 10: "f32", 11: "f64", 13: "u8", 14: "u16", 15: "bool",
    16: "u8",
}
NESTED, STRING, WSTRING, BOUNDED_STRING, BOUNDED_WSTRING = 1, 17, 18, 21, 22
# Numbers of arrays, bounded and unbounded sequences are those of their elements and one of these.
ARRAY, BOUNDED, UNBOUNDED = 48, 96, 144
KEYWORDS = {"type", "final", "move", "ref", "loop", "match", "box", "use", "where", "fn", "in", "mod", "pub", "self", "static", "yield"}
RUNTIME = "rosidl_runtime_rs"
COW = "std::borrow::Cow"


class Field:
    """A field of a type, and how its value is converted between both types."""

    def __init__(self, described):
        of = described["type"]
        number = of["type_id"]
        self.name = described["name"] + ("_" if described["name"] in KEYWORDS else "")
        self.shape = next((shape for shape in (UNBOUNDED, BOUNDED, ARRAY) if number > shape), 0)
        self.base = number - self.shape
        self.capacity, self.bound, self.nested = of["capacity"], of["string_capacity"], of["nested_type_name"]

    def element(self, rmw):
        """Returns the type of one element, with the layout of C or as in Rust."""
        if self.base == NESTED:
            return path(self.nested, rmw)
        if self.base in (STRING, WSTRING):
            return f"{RUNTIME}::{'String' if self.base == STRING else 'WString'}" if rmw else "std::string::String"
        if self.base in (BOUNDED_STRING, BOUNDED_WSTRING):
            return f"{RUNTIME}::{'BoundedString' if self.base == BOUNDED_STRING else 'BoundedWString'}<{self.bound}>"
        return PRIMITIVES[self.base]

    def rust_type(self, rmw):
        if self.shape == BOUNDED:
            return f"{RUNTIME}::BoundedSequence<{self.element(True)}, {self.capacity}>"
        element = self.element(rmw)
        if self.shape == ARRAY:
            return f"[{element}; {self.capacity}]"
        if self.shape == UNBOUNDED:
            return f"{RUNTIME}::Sequence<{element}>" if rmw else f"std::vec::Vec<{element}>"
        return element

    def convert(self, into):
        """Returns the expression that converts the field of `msg` into the layout of C, or from it."""
        value = f"msg.{self.name}"
        if self.shape == BOUNDED:
            return value
        if self.base == NESTED:
            message = f"<{path(self.nested, False)} as {RUNTIME}::Message>"
            each = f"{message}::into_rmw_message({COW}::Owned(each)).into_owned()" if into else f"{message}::from_rmw_message(each)"
        elif self.base in (STRING, WSTRING):
            each = "each.as_str().into()" if into else "each.to_string()"
        else:
            return f"{value}.into_iter().collect()" if self.shape == UNBOUNDED else value
        if self.shape == ARRAY:
            return f"{value}.map(|each| {each})"
        if self.shape == UNBOUNDED:
            return f"{value}.into_iter().map(|each| {each}).collect()"
        return f"{{ let each = {value}; {each} }}"


def path(name, rmw):
    """Returns the path of a type such as `std_msgs/msg/String` in `ros-env`."""
    package, kind, base = name.split("/")
    return f"crate::{package}::{kind}{'::rmw' if rmw else ''}::{base}"


def constants(text):
    """Returns the constants of a definition, as triples of a name, a Rust type and a value."""
    found = []
    for of, name, value in re.findall(r"^\s*(\w+)\s+([A-Z][A-Z0-9_]*)\s*=\s*([^#\n]+)", text, re.MULTILINE):
        value = value.strip()
        if of == "string":
            found.append((name, "&'static str", json.dumps(value.strip("'\""))))
        elif of == "bool":
            found.append((name, of, value.lower()))
        elif of in ("byte", "char"):
            found.append((name, "u8", value))
        else:
            # `uint8` is `u8`, `float32` is `f32`.
            found.append((name, of[0] + of.lstrip("uintfloa"), value))
    return found


def struct(name, fields, rmw, values):
    layout = "#[repr(C)]\n" if rmw else ""
    lines = "".join(f"    pub {field.name}: {field.rust_type(rmw)},\n" for field in fields)
    of = "".join(f"    pub const {constant}: {rust} = {value};\n" for constant, rust, value in values)
    return f"{layout}#[derive(Clone, Debug, PartialEq, PartialOrd)]\npub struct {name} {{\n{lines}}}\nimpl {name} {{\n{of}}}\n"


def support(kind, package, symbol):
    """Returns the declaration of a function that returns a type support, and its name."""
    function = f"rosidl_typesupport_c__get_{kind}_type_support_handle__{symbol}"
    library = f'#[link(name = "{package}__rosidl_typesupport_c")]'
    return f'{library}\nextern "C" {{ fn {function}() -> *const std::ffi::c_void; }}\n', function


def get_support(function):
    # SAFETY of the generated code: the function has no precondition.
    return f"fn get_type_support() -> *const std::ffi::c_void {{ unsafe {{ {function}() }} }}"


def rmw_message(described, values):
    """Returns a type with the layout of C. The functions of C that rosidl_generator_c wrote handle its memory."""
    package, kind, name = described["type_name"].split("/")
    symbol = f"{package}__{kind}__{name}"
    fields = [Field(field) for field in described["fields"]]
    declared, function = support("message", package, symbol)
    sequence = f"{RUNTIME}::Sequence<{name}>"
    return f"""{declared}#[link(name = "{package}__rosidl_generator_c")]
extern "C" {{
    fn {symbol}__init(msg: *mut {name}) -> bool;
    fn {symbol}__Sequence__init(seq: *mut {sequence}, size: usize) -> bool;
    fn {symbol}__Sequence__fini(seq: *mut {sequence});
    fn {symbol}__Sequence__copy(from: &{sequence}, to: *mut {sequence}) -> bool;
}}
{struct(name, fields, True, values)}impl Default for {name} {{
    fn default() -> Self {{
        unsafe {{
            let mut msg = std::mem::zeroed();
            assert!({symbol}__init(&mut msg), "no memory for a message");
            msg
        }}
    }}
}}
impl {RUNTIME}::SequenceAlloc for {name} {{
    fn sequence_init(seq: &mut {sequence}, size: usize) -> bool {{ unsafe {{ {symbol}__Sequence__init(seq, size) }} }}
    fn sequence_fini(seq: &mut {sequence}) {{ unsafe {{ {symbol}__Sequence__fini(seq) }} }}
    fn sequence_copy(from: &{sequence}, to: &mut {sequence}) -> bool {{ unsafe {{ {symbol}__Sequence__copy(from, to) }} }}
}}
impl {RUNTIME}::Message for {name} {{
    type RmwMsg = Self;
    fn into_rmw_message(msg: {COW}<'_, Self>) -> {COW}<'_, Self> {{ msg }}
    fn from_rmw_message(msg: Self) -> Self {{ msg }}
}}
impl {RUNTIME}::RmwMessage for {name} {{
    const TYPE_NAME: &'static str = "{described['type_name']}";
    {get_support(function)}
}}
"""


def message(described, values):
    """Returns a type with Rust's strings and vectors."""
    name = described["type_name"].split("/")[2]
    fields = [Field(field) for field in described["fields"]]
    into, back = ("".join(f"{field.name}: {field.convert(to)}, " for field in fields) for to in (True, False))
    return f"""{struct(name, fields, False, values)}impl Default for {name} {{
    fn default() -> Self {{ <Self as {RUNTIME}::Message>::from_rmw_message(rmw::{name}::default()) }}
}}
impl {RUNTIME}::Message for {name} {{
    type RmwMsg = rmw::{name};
    fn into_rmw_message(msg: {COW}<'_, Self>) -> {COW}<'_, rmw::{name}> {{
        let msg = msg.into_owned();
        {COW}::Owned(rmw::{name} {{ {into}}})
    }}
    fn from_rmw_message(msg: rmw::{name}) -> Self {{ Self {{ {back}}} }}
}}
"""


def service(package, kind, name):
    declared, function = support("service", package, f"{package}__{kind}__{name}")
    return f"""{declared}#[derive(Clone, Copy, Debug)]
pub struct {name};
impl {RUNTIME}::Service for {name} {{
    type Request = {name}_Request;
    type Response = {name}_Response;
    {get_support(function)}
}}
"""


def action(package, name):
    declared, function = support("action", package, f"{package}__action__{name}")
    parts = {part: f"rmw::{name}_{part}" for part in ("Goal", "Result", "Feedback", "FeedbackMessage")}
    ask, answer = f"rmw::{name}_SendGoal_Request", f"rmw::{name}_SendGoal_Response"
    want, end = f"rmw::{name}_GetResult_Request", f"rmw::{name}_GetResult_Response"
    uuid = f"{path('unique_identifier_msgs/msg/UUID', True)} {{ uuid: *goal_id }}"
    time = path("builtin_interfaces/msg/Time", True)
    return f"""{declared}#[derive(Clone, Copy, Debug)]
pub struct {name};
impl {RUNTIME}::Action for {name} {{
    type Goal = {name}_Goal;
    type Result = {name}_Result;
    type Feedback = {name}_Feedback;
    type FeedbackMessage = {name}_FeedbackMessage;
    type SendGoalService = {name}_SendGoal;
    type CancelGoalService = crate::action_msgs::srv::CancelGoal;
    type GetResultService = {name}_GetResult;
    {get_support(function)}
    fn create_goal_request(goal_id: &[u8; 16], goal: {parts['Goal']}) -> {ask} {{ {ask} {{ goal_id: {uuid}, goal }} }}
    fn split_goal_request(request: {ask}) -> ([u8; 16], {parts['Goal']}) {{ (request.goal_id.uuid, request.goal) }}
    fn create_goal_response(accepted: bool, (sec, nanosec): (i32, u32)) -> {answer} {{
        {answer} {{ accepted, stamp: {time} {{ sec, nanosec }} }}
    }}
    fn get_goal_response_accepted(response: &{answer}) -> bool {{ response.accepted }}
    fn get_goal_response_stamp(response: &{answer}) -> (i32, u32) {{ (response.stamp.sec, response.stamp.nanosec) }}
    fn create_feedback_message(goal_id: &[u8; 16], feedback: {parts['Feedback']}) -> {parts['FeedbackMessage']} {{
        {parts['FeedbackMessage']} {{ goal_id: {uuid}, feedback }}
    }}
    fn split_feedback_message(feedback: {parts['FeedbackMessage']}) -> ([u8; 16], {parts['Feedback']}) {{
        (feedback.goal_id.uuid, feedback.feedback)
    }}
    fn create_result_request(goal_id: &[u8; 16]) -> {want} {{ {want} {{ goal_id: {uuid} }} }}
    fn get_result_request_uuid(request: &{want}) -> &[u8; 16] {{ &request.goal_id.uuid }}
    fn create_result_response(status: i8, result: {parts['Result']}) -> {end} {{ {end} {{ status, result }} }}
    fn split_result_response(response: {end}) -> (i8, {parts['Result']}) {{ (response.status, response.result) }}
}}
"""


def package(ros, out, name):
    folder = out / "share" / name / "rust"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    manifest = f'[package]\nname = "{name}"\nversion = "0.0.0"\n[package.metadata.ros-env]\ninclude = true\n'
    (folder / "Cargo.toml").write_text(manifest)
    for kind in ("msg", "srv", "action"):
        plain, rmw = "", ""
        for file in sorted((ros / "share" / name / kind).glob("*.json")):
            definition = file.with_suffix(f".{kind}")
            # Types that are written in IDL have no definition of that kind. No test needs them.
            if not definition.exists():
                continue
            described = json.loads(file.read_text())["type_description_msg"]
            parts = [f"{name}/{kind}/{file.stem}"] if kind == "msg" else []
            if kind == "srv":
                parts = [f"{name}/srv/{file.stem}_{part}" for part in ("Request", "Response")]
            if kind == "action":
                ends = ("Goal", "Result", "Feedback", "FeedbackMessage", "SendGoal_Request", "SendGoal_Response", "GetResult_Request")
                parts = [f"{name}/action/{file.stem}_{part}" for part in (*ends, "GetResult_Response")]
            # The sections of a definition are its first parts, in order.
            sections = re.split(r"^---\s*$", definition.read_text(), flags=re.MULTILINE)
            known = {each["type_name"]: each for each in [described["type_description"], *described["referenced_type_descriptions"]]}
            for at, part in enumerate(parts):
                values = constants(sections[at]) if at < len(sections) else []
                plain, rmw = plain + message(known[part], values), rmw + rmw_message(known[part], values)
            services = {"srv": [file.stem], "action": [f"{file.stem}_SendGoal", f"{file.stem}_GetResult"]}.get(kind, [])
            for each in services:
                plain, rmw = plain + service(name, kind, each), rmw + service(name, kind, each)
            plain += action(name, file.stem) if kind == "action" else ""
        if plain:
            (folder / "src" / kind).mkdir(exist_ok=True)
            (folder / "src" / f"{kind}.rs").write_text(plain)
            (folder / "src" / kind / "rmw.rs").write_text(rmw)


if __name__ == "__main__":
    for each in sys.argv[3:]:
        package(Path(sys.argv[1]), Path(sys.argv[2]), each)
