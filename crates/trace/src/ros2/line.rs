//! A line of `babeltrace2 --clock-seconds`: the time, the name of the event, and its fields.

use std::borrow::Cow;

/// The largest number of bytes of an array that are kept. Ids of publishers and clients have 16.
const BYTES: usize = 16;

/// An event of ros2_tracing.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Line<'a> {
    /// The time in nanoseconds since 1970.
    pub(super) at: u64,
    /// The name without `ros2:`.
    pub(super) name: &'a str,
    /// The name of the machine; empty if the line has none.
    pub(super) host: &'a str,
    /// Fields of contexts and payload, whose braces are left out.
    fields: Vec<(&'a str, Value<'a>)>,
}

/// The value of a field.
#[derive(Clone, PartialEq, Debug)]
enum Value<'a> {
    /// An integer. A negative one is in two's complement.
    Number(u64),
    Text(Cow<'a, str>),
    /// An array of integers: its first [`BYTES`] elements.
    Bytes([u8; BYTES]),
    Other,
}

/// Reasons for which a line cannot be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// It is no line of babeltrace2.
    Foreign,
    /// Its time is not in seconds since 1970.
    Clock,
    /// Its fields are cut off or damaged.
    Fields,
}

impl<'a> Line<'a> {
    /// Parses a line. Returns `None` if it has an event of another provider than `ros2`.
    pub(super) fn parse(text: &'a str) -> Result<Option<Self>, Problem> {
        let rest = text.strip_prefix('[').ok_or(Problem::Foreign)?;
        let (time, rest) = rest.split_once(']').ok_or(Problem::Foreign)?;
        let Some(place) = rest.find(" ros2:") else { return Ok(None) };
        let at = seconds(time).ok_or(Problem::Clock)?;
        let before = &rest[..place];
        let event = &rest[place + " ros2:".len()..];
        // The time since the event before stands in round brackets.
        let host = before.rsplit_once(')').map_or(before, |(_, host)| host).trim();
        let (name, fields) = event.split_once(':').ok_or(Problem::Fields)?;
        Ok(Some(Self { at, name, host, fields: parse_fields(fields).ok_or(Problem::Fields)? }))
    }

    fn field(&self, key: &str) -> Option<&Value<'a>> {
        // The payload comes last.
        self.fields.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns the integer in a field.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.field(key).and_then(|value| if let Value::Number(number) = value { Some(*number) } else { None })
    }

    /// Returns the text in a field.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.field(key).and_then(|value| if let Value::Text(text) = value { Some(text.as_ref()) } else { None })
    }

    /// Returns the first elements of the array in a field.
    pub(super) fn bytes(&self, key: &str) -> Option<[u8; BYTES]> {
        self.field(key).and_then(|value| if let Value::Bytes(bytes) = value { Some(*bytes) } else { None })
    }
}

/// Returns the nanoseconds of a time such as `1795484954.098144699`.
fn seconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.len() != 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction.parse().ok()?)
}

/// Returns the fields of contexts and payload; `None` if the text ends within one of them.
fn parse_fields(text: &str) -> Option<Vec<(&str, Value<'_>)>> {
    let mut fields = Vec::new();
    let mut rest = text;
    let mut depth = 0_i64;
    loop {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let Some(first) = rest.bytes().next() else { break };
        if first == b'{' || first == b'}' {
            depth += if first == b'{' { 1 } else { -1 };
            rest = &rest[1..];
            continue;
        }
        let (key, value) = rest.split_once(" = ")?;
        // The braces of a structure within the payload, whose fields follow.
        if value.starts_with('{') {
            rest = value;
            continue;
        }
        let (value, after) = parse_value(value)?;
        fields.push((key, value));
        rest = after;
    }
    if depth == 0 { Some(fields) } else { None }
}

/// Returns the value at the beginning of the text, and what follows it.
fn parse_value(text: &str) -> Option<(Value<'_>, &str)> {
    if let Some(rest) = text.strip_prefix('"') {
        return parse_text(rest);
    }
    if let Some(rest) = text.strip_prefix('[') {
        return parse_array(rest);
    }
    // An enumeration is in round brackets, and its label may have spaces.
    if text.starts_with('(') {
        let end = text.find(')')? + 1;
        return Some((Value::Other, &text[end..]));
    }
    let end = text.find([' ', ',', '}']).unwrap_or(text.len());
    let value = integer(&text[..end]).map_or(Value::Other, Value::Number);
    Some((value, &text[end..]))
}

/// Returns an integer in decimal or, with `0x`, hexadecimal digits.
fn integer(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}

/// Returns the text up to the closing quote, without backslashes, and what follows the quote.
fn parse_text(text: &str) -> Option<(Value<'_>, &str)> {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => {
                let raw = &text[..place];
                let value = if raw.contains('\\') { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) };
                return Some((Value::Text(value), &text[place + 1..]));
            }
            _ => {}
        }
    }
    None
}

fn unescape(raw: &str) -> String {
    let mut chars = raw.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        text.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    text
}

/// Returns the elements of an array such as `[ [0] = 1, [1] = 16 ]`, whose first bracket is not in the text.
fn parse_array(text: &str) -> Option<(Value<'_>, &str)> {
    let mut bytes = [0; BYTES];
    let mut rest = text;
    for place in 0.. {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix(']') {
            return Some((Value::Bytes(bytes), after));
        }
        let (_, element) = rest.strip_prefix('[')?.split_once("] = ")?;
        let (value, after) = match element.bytes().next()? {
            b'[' | b'{' | b'(' => return None,
            _ => parse_value(element)?,
        };
        if let (Some(byte), Value::Number(number)) = (bytes.get_mut(place), value) {
            *byte = number as u8;
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_time_host_name_and_fields() {
        let line = Line::parse(
            "[1795484954.098144699] (+0.000025358) vm ros2:rcl_node_init: { cpu_id = 1 }, { vpid = 7, procname = \"a \\\"b\\\" }\" }, \
             { node_handle = 0x55A2EF4CE1B0, node_name = \"viewer\", namespace = \"/\", offset = -3 }",
        );
        let line = line.unwrap().unwrap();
        assert_eq!((line.at, line.host, line.name), (1_795_484_954_098_144_699, "vm", "rcl_node_init"));
        assert_eq!((line.number("vpid"), line.number("node_handle")), (Some(7), Some(0x55a2_ef4c_e1b0)));
        assert_eq!((line.text("procname"), line.text("namespace")), (Some("a \"b\" }"), Some("/")));
        assert_eq!((line.number("offset"), line.number("nothing")), (Some(-3_i64 as u64), None));
    }

    #[test]
    fn arrays_and_structures_are_read() {
        let line = "[1.000000000] (+?.?????????) ros2:x: { a = 1 }, { gid = [ [0] = 1, [1] = 200 ], in = \
                    { b = ( \"X Y\" : container = 2 ), c = 3.5 }, d = 4 }";
        let line = Line::parse(line).unwrap().unwrap();
        let mut id = [0; BYTES];
        (id[0], id[1]) = (1, 200);
        assert_eq!((line.bytes("gid"), line.number("a"), line.number("d")), (Some(id), Some(1), Some(4)));
        assert_eq!((line.host, line.number("b"), line.number("c")), ("", None, None));
    }

    #[test]
    fn other_lines_are_told_apart() {
        assert_eq!(Line::parse("hello"), Err(Problem::Foreign));
        assert_eq!(Line::parse("[1.000000000] (+0.1) vm lttng_ust_statedump:start: { }, { }"), Ok(None));
        assert_eq!(Line::parse("[01:49:14.098144699] (+0.1) vm ros2:x: { }, { }"), Err(Problem::Clock));
        for cut in ["{ a = 1", "{ a", "{ t = \"x }", "{ g = [ [0] = 1", "{ g = [ [0] = [ 1 ] ] }", "}"] {
            assert_eq!(Line::parse(&format!("[1.000000000] vm ros2:x: {cut}")), Err(Problem::Fields), "{cut}");
        }
    }
}
