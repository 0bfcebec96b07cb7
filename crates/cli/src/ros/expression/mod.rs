//! Expressions of `--filter`: a part of Python, with the message as `m`.
//!
//! `ros2` gives the text to Python. This reads what people write there: fields and elements, comparisons (also chained
//! ones), `and`, `or`, `not`, `in`, arithmetic, lists, `len`, `abs`, `min`, `max`, `sum`, `any`, `all`, `round`, `int`,
//! `float`, `str`, `bool`, and the methods `startswith`, `endswith`, `lower` and `upper` of strings. Anything else is an
//! error that names it.

mod evaluate;
mod parse;

use std::borrow::Cow;

use rospin::dynamic::{DynamicMessage, MessageType, Value};

use self::evaluate::Object;

/// Reason for which a text is no expression. `at` is the number of the character, from one on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("--filter `{text}`, character {at}: {reason}")]
pub(crate) struct ParseError {
    text: String,
    at: usize,
    reason: String,
}

/// Reason for which an expression has no value for a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum EvaluateError {
    #[error("{type_name} has no field `{field}`; it has {fields}")]
    NoField { type_name: String, field: String, fields: String },
    #[error("there is no element {index}, only {length} elements")]
    NoElement { index: i128, length: usize },
    #[error("{operation} cannot be done with {kind}")]
    WrongKind { operation: String, kind: String },
    #[error("{0} of nothing")]
    Empty(String),
    #[error("a division by zero")]
    DivisionByZero,
    #[error("the number does not fit")]
    Overflow,
}

/// An expression with values for messages.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    root: Node,
}

/// A part of an expression.
#[derive(Clone, PartialEq, Debug)]
enum Node {
    Message,
    Literal(Literal),
    List(Vec<Node>),
    Field(Box<Node>, String),
    Element(Box<Node>, Box<Node>),
    /// A function, or a method of the first argument.
    Call(Function, Vec<Node>),
    Minus(Box<Node>),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Arithmetic(Operator, Box<Node>, Box<Node>),
    /// `a < b <= c`: the first value, and each comparison with its right side.
    Compare(Box<Node>, Vec<(Comparison, Node)>),
}

#[derive(Clone, PartialEq, Debug)]
enum Literal {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    In,
    NotIn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Len,
    Abs,
    Min,
    Max,
    Sum,
    Any,
    All,
    Round,
    Int,
    Float,
    Str,
    Bool,
    StartsWith,
    EndsWith,
    Lower,
    Upper,
}

/// Functions, by their names.
const FUNCTIONS: [(&str, Function); 12] = [
    ("len", Function::Len),
    ("abs", Function::Abs),
    ("min", Function::Min),
    ("max", Function::Max),
    ("sum", Function::Sum),
    ("any", Function::Any),
    ("all", Function::All),
    ("round", Function::Round),
    ("int", Function::Int),
    ("float", Function::Float),
    ("str", Function::Str),
    ("bool", Function::Bool),
];

/// Methods of strings, by their names.
const METHODS: [(&str, Function); 4] = [
    ("startswith", Function::StartsWith),
    ("endswith", Function::EndsWith),
    ("lower", Function::Lower),
    ("upper", Function::Upper),
];

impl Expression {
    /// Reads an expression.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(Self { root: parse::parse(text)? })
    }

    /// Returns true if the expression is true for the message.
    pub(crate) fn is_true(&self, message: &DynamicMessage) -> Result<bool, EvaluateError> {
        self.is_true_for(&Object::Message(Cow::Borrowed(message)))
    }

    /// Returns true if the expression is true for a field of a message, which it calls `m`.
    pub(crate) fn is_true_of(&self, field: &Value) -> Result<bool, EvaluateError> {
        self.is_true_for(&Object::of_field(field))
    }

    fn is_true_for<'a>(&'a self, m: &Object<'a>) -> Result<bool, EvaluateError> {
        Ok(evaluate::evaluate(&self.root, m)?.is_true())
    }

    /// Checks that messages of that type have the fields. Fields of an array's elements are not checked: a new message's
    /// array has no elements.
    pub(crate) fn check(&self, message_type: &MessageType) -> Result<(), EvaluateError> {
        let message = DynamicMessage::new(message_type);
        check(&self.root, &Object::Message(Cow::Borrowed(&message)))
    }

    /// Checks the fields as [`check`](Self::check) does, where `m` is a field of a message.
    pub(crate) fn check_of(&self, field: &Value) -> Result<(), EvaluateError> {
        check(&self.root, &Object::of_field(field))
    }
}

/// Checks a node and those below it.
fn check<'a>(node: &'a Node, m: &Object<'a>) -> Result<(), EvaluateError> {
    let children: Vec<&'a Node> = match node {
        Node::Message | Node::Literal(_) => Vec::new(),
        Node::List(nodes) | Node::Call(_, nodes) => nodes.iter().collect(),
        Node::Field(of, _) | Node::Minus(of) | Node::Not(of) => vec![of],
        Node::Element(a, b) | Node::And(a, b) | Node::Or(a, b) | Node::Arithmetic(_, a, b) => vec![a, b],
        Node::Compare(first, others) => {
            let mut all = vec![&**first];
            all.extend(others.iter().map(|(_, node)| node));
            all
        }
    };
    for child in children {
        check(child, m)?;
    }
    if matches!(node, Node::Field(..))
        && let Err(error @ EvaluateError::NoField { .. }) = evaluate::evaluate(node, m)
    {
        return Err(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::types;

    fn message(name: &str, yaml: &str) -> DynamicMessage {
        DynamicMessage::from_yaml(&types::message(name).unwrap(), yaml).unwrap()
    }

    fn is_true(text: &str, message: &DynamicMessage) -> Result<bool, String> {
        let expression = Expression::parse(text).map_err(|error| error.to_string())?;
        expression.is_true(message).map_err(|error| error.to_string())
    }

    #[test]
    fn expressions_mean_what_python_means_by_them() {
        let scan = message(
            "sensor_msgs/msg/LaserScan",
            "{header: {frame_id: laser, stamp: {sec: 7}}, range_max: 30.0, ranges: [0.5, 1.5, 2.5]}",
        );
        for text in [
            "m.header.frame_id == 'laser'",
            "m.header.frame_id == \"laser\" and m.range_max > 20",
            "m.range_max < 20 or m.header.stamp.sec >= 7",
            "not m.range_max < 20",
            "m.header.stamp.sec in [1, 7] and 'las' in m.header.frame_id",
            "1.5 in m.ranges and 4 not in m.ranges",
            "len(m.ranges) == 3",
            "m.ranges[0] < m.ranges[-1]",
            "0 < m.ranges[0] < 1",
            "min(m.ranges) == 0.5 and max(m.ranges) == 2.5 and sum(m.ranges) == 4.5",
            "max(1, 2.5) == 2.5 and abs(-3) == 3 and -3 == 0 - 3",
            "m.header.frame_id.startswith('la') and m.header.frame_id.upper() == 'LASER'",
            "m.header.stamp.sec % 2 == 1 and -7 % 3 == 2 and -7 // 2 == -4 and 7 / 2 == 3.5",
            "2 ** 3 ** 2 == 512 and -2 ** 2 == -4 and 2 ** -1 == 0.5",
            "round(2.5) == 2 and round(3.5) == 4 and int(-2.7) == -2 and float('2.5') == 2.5",
            "str(7) + 'a' == '7a' and bool('') == False and bool(1)",
            "any(m.ranges) and not all([1, 0])",
            "(m.range_max - 10) * 2 == 40 and 1e1 == 10 and .5 == 0.5 and 1_000 == 1000",
            "m.header.frame_id",
            "True and not None",
            "m.header == m.header and m.header != m",
            "1 == True and 'a' != 1 and 'a' < 'b'",
        ] {
            assert_eq!(is_true(text, &scan), Ok(true), "{text}");
        }
        for text in ["m.intensities", "0", "''", "None", "m.range_max > 20 and len(m.ranges) > 3", "not 1 == 1.0"] {
            assert_eq!(is_true(text, &scan), Ok(false), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let text = message("std_msgs/msg/String", "{data: hello}");
        for (expression, expected) in [
            ("m.dat == 'a'", "std_msgs/msg/String has no field `dat`; it has data"),
            ("m.data > 1", "`>` cannot be done with a string and a number"),
            ("m.data[9]", "there is no element 9, only 5 elements"),
            ("1 / 0", "a division by zero"),
            ("len(1)", "len cannot be done with a number"),
            ("10 ** 100", "the number does not fit"),
            ("m.data.size", "fields cannot be done with a string"),
            ("", "--filter ``, character 1: a value is missing"),
            ("m.data ==", "--filter `m.data ==`, character 10: a value is missing"),
            ("m.data = 'a'", "--filter `m.data = 'a'`, character 8: `=` compares nothing; write `==`"),
            ("m.data == 'a", "--filter `m.data == 'a`, character 11: the string has no end"),
            ("msg.data", "--filter `msg.data`, character 1: `msg` is unknown; the message is `m`"),
            ("open('a')", "--filter `open('a')`, character 1: `open` is no function that a filter has"),
            ("m.data == 'a' 'b'", "--filter `m.data == 'a' 'b'`, character 15: an operator is missing"),
            ("(m.data", "--filter `(m.data`, character 8: `)` is missing"),
            ("m.data & 1", "--filter `m.data & 1`, character 8: `&` is not understood"),
            ("len()", "--filter `len()`, character 1: `len` takes another number of values"),
        ] {
            assert_eq!(is_true(expression, &text), Err(expected.to_owned()), "{expression}");
        }
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        assert!(is_true(&deep, &text).unwrap_err().contains("too many parts within each other"));
        let deep = format!("{}1", "not ".repeat(200));
        assert!(is_true(&deep, &text).unwrap_err().contains("too many parts within each other"));
        let long = "1 + ".repeat(100_000);
        assert!(is_true(&long, &text).unwrap_err().contains("longer than 1000 characters"));
        assert_eq!(is_true(&format!("{}1", "1+".repeat(150)), &text), Ok(true));
    }

    #[test]
    fn fields_are_checked_before_there_is_a_message() {
        let scan = types::message("sensor_msgs/msg/LaserScan").unwrap();
        let check = |text: &str| Expression::parse(text).unwrap().check(&scan).map_err(|error| error.to_string());
        assert_eq!(check("m.ranges[3] > 1 and m.header.frame_id == 'a'"), Ok(()));
        let error = check("m.range_max > 3 or m.header.frame == 'a'").unwrap_err();
        assert_eq!(error, "std_msgs/msg/Header has no field `frame`; it has stamp, frame_id");
    }
}
