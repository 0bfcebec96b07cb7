//! The tokens that a session knows of, and the ends that follow them.
//!
//! A session has one liveliness subscriber for all of its ends. Zenoh 1.10 misses that a token goes now and then while
//! a liveliness subscriber is declared: it decides under a lock what to tell the subscriber, tells it without the lock,
//! and the end of a token may overtake its beginning. The token then stays for every subscriber of the session, for
//! ever. If each end declared a subscriber of its own, that would happen to nodes that come while others go. It still
//! may when a transient local subscription is created, for which zenoh-ext declares one, and inside Zenoh's routers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rospin_node::Graph;
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use crate::graph;

/// An end that follows the tokens of the ends that it can be matched with.
pub(crate) trait Follower: Send + Sync {
    /// Looks whether the token with that key is there: it came or went. Threads may do that at the same time, each
    /// after what it tells is so.
    fn look(&self, key: &str);
}

/// The tokens that a session knows of.
pub(crate) struct Tokens {
    graph: Arc<Graph>,
    /// Session of the tokens that are in the graph already.
    own: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Keys of tokens, by what [`ends_of`] returns for them.
    known: BTreeMap<String, BTreeSet<String>>,
    followers: BTreeMap<String, Vec<Weak<dyn Follower>>>,
}

/// Returns the text that the tokens of a kind of ends have in common: the kind, the topic or service with `%` in place
/// of slashes, the type as in DDS, and its hash.
pub(crate) fn ends(kind: &str, topic: &str, dds_type: &str, hash: &str) -> String {
    [kind, topic, dds_type, hash].join("/")
}

/// Returns the text that the token with that key has in common with others of its kind; `None` for a node.
fn ends_of(key: &str) -> Option<String> {
    let parts: Vec<_> = key.split('/').collect();
    let ["@ros2_lv", _, _, _, _, kind, _, _, _, topic, dds_type, hash, ..] = parts[..] else { return None };
    Some(ends(kind, topic, dds_type, hash))
}

impl Tokens {
    /// Follows the tokens of a domain until the subscriber is dropped, on Zenoh's threads, and enters those of other
    /// sessions into the graph.
    pub(crate) fn follow(
        session: &zenoh::Session,
        domain_id: u32,
        graph: &Arc<Graph>,
    ) -> zenoh::Result<(Arc<Self>, Subscriber<()>)> {
        let own = session.zid().to_string();
        let tokens = Arc::new(Self { graph: Arc::clone(graph), own, state: Mutex::default() });
        let heard = Arc::clone(&tokens);
        let subscriber = session.liveliness().declare_subscriber(format!("@ros2_lv/{domain_id}/**")).history(true);
        let subscriber = subscriber.callback(move |sample| {
            heard.hear(sample.key_expr().as_str(), sample.kind() == SampleKind::Put);
        });
        Ok((tokens, subscriber.wait()?))
    }

    /// Notes that a token came or went.
    fn hear(&self, key: &str, came: bool) {
        graph::enter(&self.graph, &self.own, key, came);
        let Some(ends) = ends_of(key) else { return };
        let followers: Vec<_> = {
            let mut state = self.lock();
            if came {
                state.known.entry(ends.clone()).or_default().insert(key.to_owned());
            } else if let Some(keys) = state.known.get_mut(&ends) {
                keys.remove(key);
                if keys.is_empty() {
                    state.known.remove(&ends);
                }
            }
            state.followers.get(&ends).into_iter().flatten().filter_map(Weak::upgrade).collect()
        };
        for follower in followers {
            follower.look(key);
        }
    }

    /// Has `follower` look at the tokens of these ends, those that are there and those that come or go, while it
    /// exists.
    pub(crate) fn add(&self, ends: &str, follower: &Arc<impl Follower + 'static>) {
        let there: Vec<_> = {
            let mut state = self.lock();
            state.followers.retain(|_, followers| {
                followers.retain(|follower| follower.strong_count() > 0);
                !followers.is_empty()
            });
            let weak = Arc::downgrade(follower);
            state.followers.entry(ends.to_owned()).or_default().push(weak);
            state.known.get(ends).into_iter().flatten().cloned().collect()
        };
        for key in there {
            follower.look(&key);
        }
    }

    /// Returns true if there is a token with that key, of these ends.
    pub(crate) fn has(&self, ends: &str, key: &str) -> bool {
        self.lock().known.get(ends).is_some_and(|keys| keys.contains(key))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is complete before anything can panic, so its poison is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "@ros2_lv/2/aac3/0/10/MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/RIHS01_df66/2:1:,7:,:,:,,";

    #[derive(Default)]
    struct Looks(Mutex<Vec<String>>);

    impl Follower for Looks {
        fn look(&self, key: &str) {
            self.0.lock().unwrap().push(key.to_owned());
        }
    }

    #[test]
    fn followers_look_at_what_is_there_and_what_comes_and_goes() {
        let tokens = Tokens { graph: Graph::new(), own: "b4".to_owned(), state: Mutex::default() };
        let ends = ends("MP", "%chatter", "std_msgs::msg::dds_::String_", "RIHS01_df66");
        let [early, late] = [(), ()].map(|()| Arc::<Looks>::default());
        tokens.add(&ends, &early);
        tokens.add("MP/%other/std_msgs::msg::dds_::String_/RIHS01_df66", &late);
        tokens.hear(KEY, true);
        assert!(tokens.has(&ends, KEY) && late.0.lock().unwrap().is_empty());
        tokens.add(&ends, &late);
        tokens.hear(KEY, false);
        assert!(!tokens.has(&ends, KEY));
        assert_eq!(*early.0.lock().unwrap(), [KEY; 2]);
        assert_eq!(*late.0.lock().unwrap(), [KEY; 2]);
        tokens.hear("@ros2_lv/2/aac3/0/10/NN/%/%/talker", true);
        drop((early, late));
        tokens.add(&ends, &Arc::<Looks>::default());
        let state = tokens.lock();
        assert_eq!((state.known.len(), state.followers.len()), (0, 1));
    }
}
