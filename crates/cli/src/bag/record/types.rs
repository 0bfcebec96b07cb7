//! Definitions of the types of recorded topics: from installed packages, and else from the nodes that publish.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use rospin::dynamic::AskTypeError;
use rospin::{ExecutorHandle, Node};
use rospin_node::dynamic::MessageType;

use crate::bag::definition;

/// A type, by its name and its hash.
type Key = (String, Option<String>);

type Ask = Pin<Box<dyn Future<Output = Result<MessageType, AskTypeError>> + Send>>;

/// Knowledge of a type.
enum Known {
    Definition(String),
    /// Nobody has told it yet.
    Missing {
        /// Places of the topics with that type.
        places: Vec<usize>,
        /// Topics whose publishers are asked next, with their places. A failure says nothing about the next one.
        next: VecDeque<(String, usize)>,
        is_asked: bool,
    },
}

/// The definition of the messages of topics at these places, or the reason for which nobody could tell it.
pub(super) struct Answer {
    pub(super) topics: Vec<usize>,
    pub(super) definition: Result<String, String>,
}

/// A question to the publishers of a topic.
struct Question {
    key: Key,
    place: usize,
    answer: Ask,
}

/// Types of recorded topics.
pub(super) struct Types {
    node: Node,
    executor: ExecutorHandle,
    places: Vec<PathBuf>,
    known: BTreeMap<Key, Known>,
    asked: Vec<Question>,
}

impl Types {
    pub(super) fn new(node: &Node, executor: &ExecutorHandle, places: Vec<PathBuf>) -> Self {
        let (node, executor) = (node.clone(), executor.clone());
        Self { node, executor, places, known: BTreeMap::new(), asked: Vec::new() }
    }

    /// Asks for the type of a topic. Returns the answer if it is known already; [`poll`](Self::poll) returns it
    /// otherwise.
    pub(super) fn ask(
        &mut self,
        topic: &str,
        message_type: &str,
        hash: Option<String>,
        place: usize,
    ) -> Option<Answer> {
        let key = (message_type.to_owned(), hash);
        if !self.known.contains_key(&key) {
            let known = match definition::installed(message_type, key.1.as_deref(), &self.places) {
                Some(text) => Known::Definition(text),
                None => Known::Missing { places: Vec::new(), next: VecDeque::new(), is_asked: false },
            };
            self.known.insert(key.clone(), known);
        }
        match self.known.get_mut(&key)? {
            Known::Definition(text) => return Some(Answer { topics: vec![place], definition: Ok(text.clone()) }),
            Known::Missing { places, next, .. } => {
                places.push(place);
                next.push_back((topic.to_owned(), place));
            }
        }
        self.ask_next(key);
        None
    }

    /// Asks the publishers of the next topic with that type, unless others are asked already.
    fn ask_next(&mut self, key: Key) {
        let Some(Known::Missing { next, is_asked, .. }) = self.known.get_mut(&key) else { return };
        if *is_asked {
            return;
        }
        let Some((topic, place)) = next.pop_front() else { return };
        *is_asked = true;
        let answer = Box::pin(self.node.message_type_of(&self.executor, &topic));
        self.asked.push(Question { key, place, answer });
    }

    /// Returns the answer of a node, if one has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Option<Answer> {
        for number in 0..self.asked.len() {
            let Poll::Ready(answer) = self.asked[number].answer.as_mut().poll(cx) else { continue };
            let Question { key, place, .. } = self.asked.swap_remove(number);
            match answer {
                Ok(message_type) => {
                    let text = definition::of_type(&message_type);
                    let before = self.known.insert(key, Known::Definition(text.clone()));
                    // Topics whose own publishers could not tell it, too.
                    let topics = match before {
                        Some(Known::Missing { places, .. }) => places,
                        _ => Vec::new(),
                    };
                    return Some(Answer { topics, definition: Ok(text) });
                }
                Err(error) => {
                    if let Some(Known::Missing { is_asked, .. }) = self.known.get_mut(&key) {
                        *is_asked = false;
                    }
                    self.ask_next(key);
                    return Some(Answer { topics: vec![place], definition: Err(error.to_string()) });
                }
            }
        }
        None
    }
}
