//! The parser: one function for each precedence of Python's operators, from the weakest on.

use super::{Comparison, FUNCTIONS, Function, Literal, METHODS, Node, Operator, ParseError};

/// The most parts that lie within each other.
const DEPTH_MAX: usize = 30;

/// The longest expression, so that values of its parts find room on the stack.
const LENGTH_MAX: usize = 1000;

/// Returns the expression of a text.
pub(super) fn parse(text: &str) -> Result<Node, ParseError> {
    let mut parser = Parser { text, chars: text.chars().collect(), at: 0, depth: 0 };
    if parser.chars.len() > LENGTH_MAX {
        let reason = format!("it is longer than {LENGTH_MAX} characters");
        return Err(ParseError { text: "...".to_owned(), at: LENGTH_MAX + 1, reason });
    }
    let node = parser.disjunction()?;
    parser.skip_spaces();
    match parser.peek() {
        None => Ok(node),
        Some('=') => Err(parser.error("`=` compares nothing; write `==`")),
        Some(c) if c.is_alphanumeric() || "_'\"([.".contains(c) => Err(parser.error("an operator is missing")),
        Some(c) => Err(parser.error(format!("`{c}` is not understood"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, reason: impl Into<String>) -> ParseError {
        self.error_at(self.at, reason)
    }

    fn error_at(&self, at: usize, reason: impl Into<String>) -> ParseError {
        ParseError { text: self.text.to_owned(), at: at + 1, reason: reason.into() }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Takes a symbol if it is next.
    fn takes(&mut self, symbol: &str) -> bool {
        self.skip_spaces();
        let is_next = self.chars[self.at..].iter().copied().take(symbol.len()).eq(symbol.chars());
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    /// Returns the word that is next, and leaves it.
    fn word(&mut self) -> String {
        self.skip_spaces();
        let rest = self.chars[self.at..].iter();
        let word: String = rest.take_while(|c| c.is_alphanumeric() || **c == '_').collect();
        if word.starts_with(|c: char| c.is_ascii_digit()) { String::new() } else { word }
    }

    /// Takes a word if it is next.
    fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.word() == word;
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn expect(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.error(format!("`{symbol}` is missing"))) }
    }

    /// Parses a part that lies within another one.
    fn within(&mut self, part: fn(&mut Self) -> Result<Node, ParseError>) -> Result<Node, ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error("there are too many parts within each other"));
        }
        let node = part(self);
        self.depth -= 1;
        node
    }

    fn disjunction(&mut self) -> Result<Node, ParseError> {
        let mut node = self.conjunction()?;
        while self.takes_word("or") {
            node = Node::Or(Box::new(node), Box::new(self.conjunction()?));
        }
        Ok(node)
    }

    fn conjunction(&mut self) -> Result<Node, ParseError> {
        let mut node = self.negation()?;
        while self.takes_word("and") {
            node = Node::And(Box::new(node), Box::new(self.negation()?));
        }
        Ok(node)
    }

    fn negation(&mut self) -> Result<Node, ParseError> {
        if self.takes_word("not") {
            return Ok(Node::Not(Box::new(self.within(Self::negation)?)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, ParseError> {
        let first = self.sum()?;
        let mut others = Vec::new();
        while let Some(comparison) = self.comparator()? {
            others.push((comparison, self.sum()?));
        }
        Ok(if others.is_empty() { first } else { Node::Compare(Box::new(first), others) })
    }

    fn comparator(&mut self) -> Result<Option<Comparison>, ParseError> {
        for (symbol, comparison) in [
            ("<=", Comparison::LessOrEqual),
            ("<", Comparison::Less),
            (">=", Comparison::GreaterOrEqual),
            (">", Comparison::Greater),
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
        ] {
            if self.takes(symbol) {
                return Ok(Some(comparison));
            }
        }
        if self.takes_word("in") {
            return Ok(Some(Comparison::In));
        }
        if self.takes_word("not") {
            if self.takes_word("in") {
                return Ok(Some(Comparison::NotIn));
            }
            return Err(self.error("`in` is missing"));
        }
        Ok(None)
    }

    fn sum(&mut self) -> Result<Node, ParseError> {
        let mut node = self.product()?;
        loop {
            let operator = if self.takes("+") {
                Operator::Add
            } else if self.takes("-") {
                Operator::Subtract
            } else {
                return Ok(node);
            };
            node = Node::Arithmetic(operator, Box::new(node), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Node, ParseError> {
        let mut node = self.sign()?;
        loop {
            let operator = if self.takes("//") {
                Operator::FloorDivide
            } else if self.takes("*") {
                Operator::Multiply
            } else if self.takes("/") {
                Operator::Divide
            } else if self.takes("%") {
                Operator::Remainder
            } else {
                return Ok(node);
            };
            node = Node::Arithmetic(operator, Box::new(node), Box::new(self.sign()?));
        }
    }

    fn sign(&mut self) -> Result<Node, ParseError> {
        if self.takes("-") {
            return Ok(Node::Minus(Box::new(self.within(Self::sign)?)));
        }
        if self.takes("+") {
            return self.within(Self::sign);
        }
        let base = self.parts()?;
        if self.takes("**") {
            let exponent = self.within(Self::sign)?;
            return Ok(Node::Arithmetic(Operator::Power, Box::new(base), Box::new(exponent)));
        }
        Ok(base)
    }

    /// Parses a value with its fields, elements and methods.
    fn parts(&mut self) -> Result<Node, ParseError> {
        let mut node = self.atom()?;
        loop {
            if self.takes(".") {
                let begin = self.at;
                let name = self.word();
                if name.is_empty() {
                    return Err(self.error("the name of a field is missing"));
                }
                self.at += name.chars().count();
                node = if self.takes("(") {
                    let mut values = vec![node];
                    values.extend(self.list(")")?);
                    let method = METHODS.iter().find(|(known, _)| *known == name);
                    let Some((_, method)) = method else {
                        return Err(self.error_at(begin, format!("`{name}` is no method that a filter has")));
                    };
                    self.call(begin, &name, *method, values)?
                } else {
                    Node::Field(Box::new(node), name)
                };
            } else if self.takes("[") {
                let index = self.within(Self::disjunction)?;
                self.expect("]")?;
                node = Node::Element(Box::new(node), Box::new(index));
            } else {
                return Ok(node);
            }
        }
    }

    fn call(&self, at: usize, name: &str, function: Function, values: Vec<Node>) -> Result<Node, ParseError> {
        let count = match function {
            Function::Min | Function::Max => 1..=usize::MAX,
            Function::StartsWith | Function::EndsWith => 2..=2,
            _ => 1..=1,
        };
        if !count.contains(&values.len()) {
            return Err(self.error_at(at, format!("`{name}` takes another number of values")));
        }
        Ok(Node::Call(function, values))
    }

    /// Parses values up to the symbol that ends their list.
    fn list(&mut self, end: &str) -> Result<Vec<Node>, ParseError> {
        let mut values = Vec::new();
        while !self.takes(end) {
            if !values.is_empty() {
                self.expect(",")?;
                if self.takes(end) {
                    break;
                }
            }
            values.push(self.within(Self::disjunction)?);
        }
        Ok(values)
    }

    fn atom(&mut self) -> Result<Node, ParseError> {
        self.skip_spaces();
        let begin = self.at;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let node = self.within(Self::disjunction)?;
                self.expect(")")?;
                return Ok(node);
            }
            Some('[') => {
                self.at += 1;
                return Ok(Node::List(self.list("]")?));
            }
            Some(quote @ ('\'' | '"')) => return self.string(quote),
            Some(c) if c.is_ascii_digit() || c == '.' => return self.number(),
            _ => {}
        }
        let word = self.word();
        self.at += word.chars().count();
        match &*word {
            "" => Err(self.error_at(begin, "a value is missing")),
            "m" => Ok(Node::Message),
            "True" => Ok(Node::Literal(Literal::Bool(true))),
            "False" => Ok(Node::Literal(Literal::Bool(false))),
            "None" => Ok(Node::Literal(Literal::None)),
            name if self.takes("(") => match FUNCTIONS.iter().find(|(known, _)| *known == name) {
                Some((_, function)) => {
                    let values = self.list(")")?;
                    self.call(begin, name, *function, values)
                }
                None => Err(self.error_at(begin, format!("`{name}` is no function that a filter has"))),
            },
            name => Err(self.error_at(begin, format!("`{name}` is unknown; the message is `m`"))),
        }
    }

    fn string(&mut self, quote: char) -> Result<Node, ParseError> {
        let begin = self.at;
        let mut text = String::new();
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == quote {
                return Ok(Node::Literal(Literal::Text(text)));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            match self.peek() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(c @ ('\\' | '\'' | '"')) => text.push(c),
                Some(c) => return Err(self.error(format!("`\\{c}` is not understood"))),
                None => break,
            }
            self.at += 1;
        }
        Err(self.error_at(begin, "the string has no end"))
    }

    fn number(&mut self) -> Result<Node, ParseError> {
        let begin = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            let is_sign = matches!(c, '+' | '-') && text.ends_with(['e', 'E']) && !text.starts_with("0x");
            if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || is_sign) {
                break;
            }
            self.at += 1;
            if c != '_' {
                text.push(c);
            }
        }
        let hexadecimal = text.strip_prefix("0x").map(|digits| i128::from_str_radix(digits, 16));
        if let Some(Ok(number)) = hexadecimal {
            return Ok(Node::Literal(Literal::Int(number)));
        }
        if let Ok(number) = text.parse() {
            return Ok(Node::Literal(Literal::Int(number)));
        }
        match text.parse() {
            Ok(number) => Ok(Node::Literal(Literal::Float(number))),
            Err(_) => Err(self.error_at(begin, format!("`{text}` is no number"))),
        }
    }
}
