//! YAML as a tree, with the text of scalars and with mappings in the order of the file. A key may come twice.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle};

/// The deepest nesting of lists and mappings.
const LEVELS_MAX: usize = 64;

/// The most nodes that aliases may stand for.
const ALIASED_MAX: usize = 100_000;

/// A node of the tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Number of the line, from 1.
    pub line: usize,
    /// The node's content.
    pub content: Content,
}

/// Content of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// A text without parts.
    Scalar(Scalar),
    /// Nodes in order.
    List(Vec<Node>),
    /// Names with nodes, in the order of the file.
    Mapping(Vec<Entry>),
}

/// Entry of a mapping.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The entry's name.
    pub key: String,
    /// Number of the key's line, from 1.
    pub line: usize,
    /// The entry's node.
    pub value: Node,
}

/// Text of a scalar, and what its notation says about its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Scalar {
    /// The text, without quotes.
    pub text: String,
    /// True if it stands in quotes.
    pub is_quoted: bool,
    /// True if it has the tag `!!str`.
    pub is_tagged_text: bool,
}

impl Node {
    /// Returns true if the node is a place where nothing is written.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.text.is_empty() && !scalar.is_quoted && !scalar.is_tagged_text)
    }

    /// Returns the number of nodes in it, itself included.
    fn size(&self) -> usize {
        1 + match &self.content {
            Content::Scalar(_) => 0,
            Content::List(list) => list.iter().map(Self::size).sum(),
            Content::Mapping(entries) => entries.iter().map(|entry| entry.value.size()).sum(),
        }
    }
}

/// A problem and the number of its line.
#[derive(Debug)]
pub struct Problem {
    /// Number of the line, from 1.
    pub line: usize,
    /// The problem.
    pub reason: String,
}

/// Reads the documents of a text. Each of them is a node, or nothing.
///
/// # Errors
/// If the text is not YAML, or nests or repeats too much.
pub fn read(text: &str) -> Result<Vec<Node>, Problem> {
    // Without it a block at the end of an argument would have a line feed that libyaml does not give it.
    let options = granit_parser::options! { block_scalar_eof_without_line_feed: true };
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text.trim_start_matches('\u{feff}'), options) {
        let (event, span) = next.map_err(|error| Problem { line: error.marker().line(), reason: error.info() })?;
        builder.take(event, span.start.line(), span.is_empty())?;
    }
    Ok(builder.documents)
}

/// List or mapping whose end is not read yet.
struct Open {
    line: usize,
    anchor: usize,
    content: Content,
    /// The key whose value comes next, with its line.
    key: Option<(String, usize)>,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    documents: Vec<Node>,
    /// The nodes that have an anchor, by its number.
    anchors: BTreeMap<usize, Node>,
    /// Number of nodes that were copied for anchors and aliases.
    copied: usize,
}

impl Builder {
    /// Takes an event. `is_empty` is true if nothing is written where it is, which is an event of `~`.
    fn take(&mut self, event: Event<'_>, line: usize, is_empty: bool) -> Result<(), Problem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar {
                    text: if is_empty { String::new() } else { text.into_owned() },
                    is_quoted: matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted),
                    is_tagged_text: tag.is_some_and(|tag| tag.core_suffix() == Some("str")),
                };
                self.close(Node { line, content: Content::Scalar(scalar) }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.enter(line, anchor, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.enter(line, anchor, Content::Mapping(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                self.close(Node { line: open.line, content: open.content }, open.anchor)
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return Err(Problem { line, reason: "an alias stands for a node that it is part of".to_owned() });
                };
                self.copy(&node, line)?;
                self.close(node, 0)
            }
            _ => Ok(()),
        }
    }

    /// Begins a list or a mapping.
    fn enter(&mut self, line: usize, anchor: usize, content: Content) -> Result<(), Problem> {
        if self.open.len() >= LEVELS_MAX {
            return Err(Problem { line, reason: format!("lists and mappings are nested more than {LEVELS_MAX} deep") });
        }
        self.open.push(Open { line, anchor, content, key: None });
        Ok(())
    }

    /// Puts a node where it belongs: into the list or mapping that is open, or among the documents.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        if anchor > 0 {
            self.copy(&node, node.line)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(Open { content, key, .. }) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match (content, key.take()) {
            (Content::List(list), _) => list.push(node),
            (Content::Mapping(entries), Some((key, line))) => entries.push(Entry { key, line, value: node }),
            (_, _) => match node.content {
                Content::Scalar(scalar) => *key = Some((scalar.text, node.line)),
                _ => {
                    let reason = "a list or a mapping is the key of a mapping; keys are names".to_owned();
                    return Err(Problem { line: node.line, reason });
                }
            },
        }
        Ok(())
    }

    /// Counts a node that is copied.
    fn copy(&mut self, node: &Node, line: usize) -> Result<(), Problem> {
        self.copied += node.size();
        if self.copied > ALIASED_MAX {
            return Err(Problem {
                line,
                reason: format!("anchors and aliases stand for more than {ALIASED_MAX} nodes"),
            });
        }
        Ok(())
    }
}
