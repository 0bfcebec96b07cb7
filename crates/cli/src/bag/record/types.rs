//! Definitions of the types of recorded topics: from installed packages, and else from the nodes that publish.

use std::collections::BTreeMap;
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
    Definition(Result<String, String>),
    /// A node is asked, for topics at these places.
    Asked(Vec<usize>),
}

/// The definition of the messages of topics at these places, or the reason for which nobody could tell it.
pub(super) struct Answer {
    pub(super) topics: Vec<usize>,
    pub(super) definition: Result<String, String>,
}

/// Types of recorded topics.
pub(super) struct Types {
    places: Vec<PathBuf>,
    known: BTreeMap<Key, Known>,
    asked: Vec<(Key, Ask)>,
}

impl Types {
    pub(super) const fn new(places: Vec<PathBuf>) -> Self {
        Self { places, known: BTreeMap::new(), asked: Vec::new() }
    }

    /// Asks for the type of a topic. Returns the answer if it is known already; [`poll`](Self::poll) returns it
    /// otherwise.
    pub(super) fn ask(
        &mut self,
        node: &Node,
        executor: &ExecutorHandle,
        topic: &str,
        message_type: &str,
        hash: Option<String>,
        place: usize,
    ) -> Option<Answer> {
        let key = (message_type.to_owned(), hash);
        match self.known.get_mut(&key) {
            Some(Known::Definition(definition)) => {
                return Some(Answer { topics: vec![place], definition: definition.clone() });
            }
            Some(Known::Asked(topics)) => {
                topics.push(place);
                return None;
            }
            None => {}
        }
        if let Some(text) = definition::installed(message_type, key.1.as_deref(), &self.places) {
            self.known.insert(key, Known::Definition(Ok(text.clone())));
            return Some(Answer { topics: vec![place], definition: Ok(text) });
        }
        self.known.insert(key.clone(), Known::Asked(vec![place]));
        self.asked.push((key, Box::pin(node.message_type_of(executor, topic))));
        None
    }

    /// Returns the answer of a node, if one has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Option<Answer> {
        for number in 0..self.asked.len() {
            let Poll::Ready(answer) = self.asked[number].1.as_mut().poll(cx) else { continue };
            let (key, _) = self.asked.swap_remove(number);
            let definition = match answer {
                Ok(message_type) => Ok(definition::of_type(&message_type)),
                Err(error) => Err(error.to_string()),
            };
            let before = self.known.insert(key, Known::Definition(definition.clone()));
            let topics = match before {
                Some(Known::Asked(topics)) => topics,
                _ => Vec::new(),
            };
            return Some(Answer { topics, definition });
        }
        None
    }
}
