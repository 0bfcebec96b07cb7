//! R2R's sampling, as far as it matters for latency.
//!
//! `spin_once` builds a wait set of all subscriptions, waits, and then takes one message of each ready one, in the
//! order in which they were created, into the bounded channel that the callback reads from. A message for which the
//! channel has no room is dropped: the newest one. The kernel's poll stands for the wait set.

use std::io;
use std::time::Duration;

use futures::channel::mpsc::{self, Receiver, Sender};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::transport::{Found, Inlet, Message};

/// Capacity that R2R gives its channels. The crate `futures` adds one place for each sender.
const CHANNEL_CAPACITY: usize = 10;

/// A node of R2R: subscriptions, each with the channel that its callback reads from.
#[derive(Default)]
pub(crate) struct Node(Vec<Subscription>);

struct Subscription {
    inlet: Inlet,
    /// Sender of the callback's channel; `None` once the publisher has gone, so that the callback's task ends.
    sender: Option<Sender<Message>>,
    /// Number of messages for which the channel had no room.
    dropped: u64,
}

impl Node {
    /// Subscribes to a topic. Returns the end of the channel that the callback reads from.
    pub(crate) fn subscribe(&mut self, inlet: Inlet) -> Receiver<Message> {
        let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
        self.0.push(Subscription { inlet, sender: Some(sender), dropped: 0 });
        receiver
    }

    /// Waits for messages, at most for `timeout`, and takes one from each subscription that has one. Returns false when
    /// no more will come.
    pub(crate) fn spin_once(&mut self, timeout: Duration) -> io::Result<bool> {
        let ready = self.wait(timeout)?;
        for number in ready {
            self.0[number].handle_incoming()?;
        }
        Ok(self.0.iter().any(|subscription| subscription.sender.is_some()))
    }

    /// Returns the number of messages for which the channel had no room, by subscription.
    pub(crate) fn dropped(&self) -> Vec<u64> {
        self.0.iter().map(|subscription| subscription.dropped).collect()
    }

    /// Waits at most for `timeout`. Returns the indices of the subscriptions that have a message or have ended, in the
    /// order of their creation.
    fn wait(&self, timeout: Duration) -> io::Result<Vec<usize>> {
        let open = || self.0.iter().enumerate().filter(|(_, subscription)| subscription.sender.is_some());
        let mut wait_set: Vec<_> = open().map(|(_, s)| PollFd::new(s.inlet.fd(), PollFlags::IN)).collect();
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        match poll(&mut wait_set, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = open().zip(&wait_set).filter(|(_, waited)| !waited.revents().is_empty());
        Ok(ready.map(|((number, _), _)| number).collect())
    }
}

impl Subscription {
    /// Takes a message, if there is one, and puts it into the channel.
    fn handle_incoming(&mut self) -> io::Result<()> {
        match self.inlet.take()? {
            Found::Message(message) => {
                let sent = self.sender.as_mut().map(|sender| sender.try_send(message));
                self.dropped += u64::from(sent.is_some_and(|sent| sent.is_err()));
            }
            Found::Nothing => {}
            Found::End => self.sender = None,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::transport::{Outlet, pair};
    use super::*;

    const LONG: Duration = Duration::from_secs(5);

    fn send(outlet: &Outlet, numbers: std::ops::Range<u64>) {
        for number in numbers {
            outlet.send(Message { published_ns: 0, number }).unwrap();
        }
    }

    fn drain(receiver: &mut Receiver<Message>) -> Vec<u64> {
        std::iter::from_fn(|| receiver.try_recv().ok()).map(|message| message.number).collect()
    }

    #[test]
    fn a_full_channel_drops_the_newest() {
        let (outlet, inlet) = pair().unwrap();
        let mut node = Node::default();
        let mut receiver = node.subscribe(inlet);
        send(&outlet, 0..20);
        for _ in 0..20 {
            assert!(node.spin_once(LONG).unwrap());
        }
        assert_eq!(node.dropped(), [20 - 11]);
        assert_eq!(drain(&mut receiver), (0..11).collect::<Vec<_>>());
    }

    #[test]
    fn one_message_a_subscription_is_taken_at_a_time() {
        let ends = [pair().unwrap(), pair().unwrap()];
        let mut node = Node::default();
        let (outlets, inlets): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        let mut receivers: Vec<_> = inlets.into_iter().map(|inlet| node.subscribe(inlet)).collect();
        send(&outlets[0], 0..2);
        send(&outlets[1], 7..8);
        node.spin_once(LONG).unwrap();
        assert_eq!((drain(&mut receivers[0]), drain(&mut receivers[1])), (vec![0], vec![7]));
        node.spin_once(LONG).unwrap();
        assert_eq!((drain(&mut receivers[0]), drain(&mut receivers[1])), (vec![1], vec![]));
    }

    #[test]
    fn spinning_ends_with_the_publishers() {
        let ends = [pair().unwrap(), pair().unwrap()];
        let mut node = Node::default();
        let (mut outlets, inlets): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        let mut receivers: Vec<_> = inlets.into_iter().map(|inlet| node.subscribe(inlet)).collect();
        assert!(node.spin_once(Duration::ZERO).unwrap());
        send(&outlets[1], 0..1);
        outlets.remove(0);
        assert!(node.spin_once(LONG).unwrap());
        drop(outlets);
        while node.spin_once(LONG).unwrap() {}
        assert_eq!(drain(&mut receivers[1]), [0]);
    }
}
