//! Values of expressions.

use std::borrow::Cow;
use std::cmp::Ordering;

use rospin::dynamic::{DynamicMessage, Value};

use super::{Comparison, EvaluateError, Function, Literal, Node, Operator};

/// A value while an expression is evaluated.
#[derive(Clone, Debug)]
pub(super) enum Object<'a> {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Cow<'a, str>),
    Message(Cow<'a, DynamicMessage>),
    /// An array or a sequence of a message.
    Array(Cow<'a, Value>),
    List(Vec<Object<'a>>),
}

impl<'a> Object<'a> {
    /// Returns the value of a field.
    pub(super) fn of_field(value: &'a Value) -> Self {
        match value {
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Message(message) => Self::Message(Cow::Borrowed(message)),
            value if value.length().is_some() => Self::Array(Cow::Borrowed(value)),
            scalar => Self::of_value(scalar.clone()),
        }
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(value),
            Value::Int8(value) => Self::Int(value.into()),
            Value::UInt8(value) => Self::Int(value.into()),
            Value::Int16(value) => Self::Int(value.into()),
            Value::UInt16(value) => Self::Int(value.into()),
            Value::Int32(value) => Self::Int(value.into()),
            Value::UInt32(value) => Self::Int(value.into()),
            Value::Int64(value) => Self::Int(value.into()),
            Value::UInt64(value) => Self::Int(value.into()),
            Value::Float32(value) => Self::Float(value.into()),
            Value::Float64(value) => Self::Float(value),
            Value::String(text) => Self::Text(Cow::Owned(text)),
            Value::Message(message) => Self::Message(Cow::Owned(message)),
            array => Self::Array(Cow::Owned(array)),
        }
    }

    fn of_literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::None => Self::None,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Float(value) => Self::Float(*value),
            Literal::Text(text) => Self::Text(Cow::Borrowed(text)),
        }
    }

    /// Returns true if Python takes the value for true.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Message(_) => true,
            Self::Text(_) | Self::Array(_) | Self::List(_) => self.length().is_some_and(|length| length > 0),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) | Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::Message(_) => "a message",
            Self::Array(_) | Self::List(_) => "a list",
        }
    }

    fn length(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            Self::Array(array) => array.length(),
            Self::List(values) => Some(values.len()),
            _ => None,
        }
    }

    /// Returns an element by its index, which is below the length.
    fn element(&self, index: usize) -> Option<Self> {
        match self {
            Self::Text(text) => text.chars().nth(index).map(|c| Self::Text(Cow::Owned(c.to_string()))),
            Self::Array(array) => array.element(index).map(Self::of_value),
            Self::List(values) => values.get(index).cloned(),
            _ => None,
        }
    }

    fn elements(&self) -> Option<impl Iterator<Item = Self>> {
        let length = self.length()?;
        Some((0..length).filter_map(|at| self.element(at)))
    }

    /// Returns the number; a Boolean is zero or one.
    fn number(&self) -> Option<Number> {
        match self {
            Self::Bool(value) => Some(Number::Int(i128::from(*value))),
            Self::Int(value) => Some(Number::Int(*value)),
            Self::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    fn is_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Message(a), Self::Message(b)) => a == b,
            _ => match (self.number(), other.number(), self.elements(), other.elements()) {
                (Some(a), Some(b), ..) => a.order(b) == Some(Ordering::Equal),
                (None, None, Some(a), Some(b)) => {
                    let is_text = |of: &Self| matches!(of, Self::Text(_));
                    let (a, b): (Vec<_>, Vec<_>) = (a.collect(), b.collect());
                    let pairs = || a.iter().zip(&b).all(|(a, b)| a.is_equal(b));
                    !is_text(self) && !is_text(other) && a.len() == b.len() && pairs()
                }
                _ => false,
            },
        }
    }

    /// Returns the order of two numbers or two strings. `Ok(None)` means that one is not a number.
    fn order(&self, other: &Self, operation: &str) -> Result<Option<Ordering>, EvaluateError> {
        if let (Self::Text(a), Self::Text(b)) = (self, other) {
            return Ok(Some(a.cmp(b)));
        }
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => Ok(a.order(b)),
            _ => Err(wrong_kinds(operation, self, other)),
        }
    }
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    const fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (a, b) => a.float().partial_cmp(&b.float()),
        }
    }
}

impl From<Number> for Object<'_> {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(value) => Self::Int(value),
            Number::Float(value) => Self::Float(value),
        }
    }
}

fn wrong_kind(operation: impl Into<String>, value: &Object<'_>) -> EvaluateError {
    EvaluateError::WrongKind { operation: operation.into(), kind: value.kind().to_owned() }
}

fn wrong_kinds(operation: &str, a: &Object<'_>, b: &Object<'_>) -> EvaluateError {
    let kind = format!("{} and {}", a.kind(), b.kind());
    EvaluateError::WrongKind { operation: format!("`{operation}`"), kind }
}

/// Returns the value of an expression, with `message` as `m`.
pub(super) fn evaluate<'a>(node: &'a Node, message: &Object<'a>) -> Result<Object<'a>, EvaluateError> {
    let value = |node: &'a Node| evaluate(node, message);
    Ok(match node {
        Node::Message => message.clone(),
        Node::Literal(literal) => Object::of_literal(literal),
        Node::List(nodes) => {
            let mut values = Vec::with_capacity(nodes.len());
            for node in nodes {
                values.push(value(node)?);
            }
            Object::List(values)
        }
        Node::Field(of, name) => field(value(of)?, name)?,
        Node::Element(of, index) => element(&value(of)?, &value(index)?)?,
        Node::Call(function, nodes) => {
            let mut values = Vec::with_capacity(nodes.len());
            for node in nodes {
                values.push(value(node)?);
            }
            call(*function, &values)?
        }
        Node::Minus(of) => {
            let of = value(of)?;
            match of.number() {
                Some(Number::Int(number)) => Object::Int(number.checked_neg().ok_or(EvaluateError::Overflow)?),
                Some(Number::Float(number)) => Object::Float(-number),
                None => return Err(wrong_kind("`-`", &of)),
            }
        }
        Node::Not(of) => Object::Bool(!value(of)?.is_true()),
        Node::And(a, b) => {
            let a = value(a)?;
            if a.is_true() { value(b)? } else { a }
        }
        Node::Or(a, b) => {
            let a = value(a)?;
            if a.is_true() { a } else { value(b)? }
        }
        Node::Arithmetic(operator, a, b) => arithmetic(*operator, &value(a)?, &value(b)?)?,
        Node::Compare(first, others) => {
            let mut left = value(first)?;
            for (comparison, right) in others {
                let right = value(right)?;
                if !compare(*comparison, &left, &right)? {
                    return Ok(Object::Bool(false));
                }
                left = right;
            }
            Object::Bool(true)
        }
    })
}

fn field<'a>(of: Object<'a>, name: &str) -> Result<Object<'a>, EvaluateError> {
    let Object::Message(message) = of else { return Err(wrong_kind("fields", &of)) };
    let missing = |message: &DynamicMessage| {
        let fields: Vec<&str> = message.fields().map(|(name, _)| name).collect();
        let type_name = message.message_type().name().to_owned();
        EvaluateError::NoField { type_name, field: name.to_owned(), fields: fields.join(", ") }
    };
    match message {
        Cow::Borrowed(message) => match message.fields().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(Object::of_field(value)),
            None => Err(missing(message)),
        },
        Cow::Owned(message) => match message.fields().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(Object::of_value(value.clone())),
            None => Err(missing(&message)),
        },
    }
}

fn element<'a>(of: &Object<'a>, index: &Object<'a>) -> Result<Object<'a>, EvaluateError> {
    let Some(length) = of.length() else { return Err(wrong_kind("`[]`", of)) };
    let Some(Number::Int(index)) = index.number() else { return Err(wrong_kind("`[]`", index)) };
    // As in Python, a negative index counts from the end.
    let from_begin = if index < 0 { index.saturating_add(length as i128) } else { index };
    let found = usize::try_from(from_begin).ok().and_then(|at| of.element(at));
    found.ok_or(EvaluateError::NoElement { index, length })
}

fn compare(comparison: Comparison, a: &Object<'_>, b: &Object<'_>) -> Result<bool, EvaluateError> {
    Ok(match comparison {
        Comparison::Equal => a.is_equal(b),
        Comparison::NotEqual => !a.is_equal(b),
        Comparison::Less => a.order(b, "<")?.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => a.order(b, "<=")?.is_some_and(Ordering::is_le),
        Comparison::Greater => a.order(b, ">")?.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => a.order(b, ">=")?.is_some_and(Ordering::is_ge),
        Comparison::In => is_in(a, b)?,
        Comparison::NotIn => !is_in(a, b)?,
    })
}

fn is_in(a: &Object<'_>, list: &Object<'_>) -> Result<bool, EvaluateError> {
    if let Object::Text(whole) = list {
        return match a {
            Object::Text(part) => Ok(whole.contains(&**part)),
            _ => Err(wrong_kinds("in", a, list)),
        };
    }
    match list.elements() {
        Some(mut elements) => Ok(elements.any(|element| element.is_equal(a))),
        None => Err(wrong_kinds("in", a, list)),
    }
}

fn arithmetic<'a>(operator: Operator, a: &Object<'a>, b: &Object<'a>) -> Result<Object<'a>, EvaluateError> {
    let symbol = match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::FloorDivide => "//",
        Operator::Remainder => "%",
        Operator::Power => "**",
    };
    if let (Operator::Add, Object::Text(a), Object::Text(b)) = (operator, a, b) {
        return Ok(Object::Text(Cow::Owned(format!("{a}{b}"))));
    }
    let (Some(x), Some(y)) = (a.number(), b.number()) else { return Err(wrong_kinds(symbol, a, b)) };
    let is_division = matches!(operator, Operator::Divide | Operator::FloorDivide | Operator::Remainder);
    if is_division && y.float() == 0.0 {
        return Err(EvaluateError::DivisionByZero);
    }
    if let (Number::Int(x), Number::Int(y)) = (x, y)
        && let Some(number) = whole(operator, x, y)
    {
        return number.map(Object::Int).ok_or(EvaluateError::Overflow);
    }
    let (x, y) = (x.float(), y.float());
    Ok(Object::Float(match operator {
        Operator::Add => x + y,
        Operator::Subtract => x - y,
        Operator::Multiply => x * y,
        Operator::Divide => x / y,
        Operator::FloorDivide => (x / y).floor(),
        Operator::Remainder => x - y * (x / y).floor(),
        Operator::Power => x.powf(y),
    }))
}

/// Returns the result of whole numbers, which is `None` inside if it does not fit; `None` if it is not a whole number.
fn whole(operator: Operator, x: i128, y: i128) -> Option<Option<i128>> {
    // As in Python, division rounds down, and the remainder has the sign of the divisor.
    let is_rounded_up = || x % y != 0 && (x < 0) != (y < 0);
    match operator {
        Operator::Add => Some(x.checked_add(y)),
        Operator::Subtract => Some(x.checked_sub(y)),
        Operator::Multiply => Some(x.checked_mul(y)),
        Operator::Divide => None,
        Operator::FloorDivide if y == -1 => Some(x.checked_neg()),
        Operator::FloorDivide => Some(Some(x / y - i128::from(is_rounded_up()))),
        Operator::Remainder if y == -1 => Some(Some(0)),
        Operator::Remainder => Some(Some(if is_rounded_up() { x % y + y } else { x % y })),
        Operator::Power if y < 0 => None,
        Operator::Power => Some(u32::try_from(y).ok().and_then(|y| x.checked_pow(y))),
    }
}

fn call<'a>(function: Function, values: &[Object<'a>]) -> Result<Object<'a>, EvaluateError> {
    let first = &values[0];
    let name = || {
        let known = super::FUNCTIONS.iter().chain(&super::METHODS).find(|(_, known)| *known == function);
        known.map_or_else(String::new, |(name, _)| (*name).to_owned())
    };
    let wrong = || wrong_kind(name(), first);
    Ok(match function {
        Function::Len => Object::Int(first.length().ok_or_else(wrong)? as i128),
        Function::Abs => match first.number().ok_or_else(wrong)? {
            Number::Int(number) => Object::Int(number.checked_abs().ok_or(EvaluateError::Overflow)?),
            Number::Float(number) => Object::Float(number.abs()),
        },
        Function::Min | Function::Max => {
            let wanted = if function == Function::Min { Ordering::Less } else { Ordering::Greater };
            let all: Vec<_> = match values {
                [list] => list.elements().ok_or_else(wrong)?.collect(),
                several => several.to_vec(),
            };
            let mut all = all.into_iter();
            let mut best = all.next().ok_or_else(|| EvaluateError::Empty(name()))?;
            for value in all {
                if value.order(&best, &name())? == Some(wanted) {
                    best = value;
                }
            }
            best
        }
        Function::Sum => {
            let mut sum = Object::Int(0);
            for value in first.elements().ok_or_else(wrong)? {
                sum = arithmetic(Operator::Add, &sum, &value)?;
            }
            sum
        }
        Function::Any => Object::Bool(first.elements().ok_or_else(wrong)?.any(|value| value.is_true())),
        Function::All => Object::Bool(first.elements().ok_or_else(wrong)?.all(|value| value.is_true())),
        Function::Round => match first.number().ok_or_else(wrong)? {
            Number::Int(number) => Object::Int(number),
            Number::Float(number) => Object::Int(whole_of(number.round_ties_even())?),
        },
        Function::Int => match first {
            Object::Text(text) => Object::Int(text.trim().parse().map_err(|_| wrong())?),
            other => match other.number().ok_or_else(wrong)? {
                Number::Int(number) => Object::Int(number),
                Number::Float(number) => Object::Int(whole_of(number.trunc())?),
            },
        },
        Function::Float => match first {
            Object::Text(text) => Object::Float(text.trim().parse().map_err(|_| wrong())?),
            other => Object::Float(other.number().ok_or_else(wrong)?.float()),
        },
        Function::Str => Object::Text(match first {
            Object::None => Cow::Borrowed("None"),
            Object::Bool(true) => Cow::Borrowed("True"),
            Object::Bool(false) => Cow::Borrowed("False"),
            Object::Int(number) => Cow::Owned(number.to_string()),
            Object::Float(number) => Cow::Owned(crate::ros::python::shown(&Value::Float64(*number))),
            Object::Text(text) => text.clone(),
            Object::Message(_) | Object::Array(_) | Object::List(_) => return Err(wrong()),
        }),
        Function::Bool => Object::Bool(first.is_true()),
        Function::StartsWith | Function::EndsWith | Function::Lower | Function::Upper => {
            let Object::Text(text) = first else { return Err(wrong()) };
            method(function, text, &values[1..]).ok_or_else(|| wrong_kind(name(), &values[1]))?
        }
    })
}

/// Returns the value of a method of a string; `None` if its argument is no string.
fn method<'a>(function: Function, text: &str, arguments: &[Object<'a>]) -> Option<Object<'a>> {
    let part = match arguments.first() {
        Some(Object::Text(part)) => &**part,
        Some(_) => return None,
        None => "",
    };
    Some(match function {
        Function::StartsWith => Object::Bool(text.starts_with(part)),
        Function::EndsWith => Object::Bool(text.ends_with(part)),
        Function::Upper => Object::Text(Cow::Owned(text.to_uppercase())),
        _ => Object::Text(Cow::Owned(text.to_lowercase())),
    })
}

fn whole_of(number: f64) -> Result<i128, EvaluateError> {
    if number.abs() < 1e38 { Ok(number as i128) } else { Err(EvaluateError::Overflow) }
}
