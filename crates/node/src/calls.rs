//! Calls that wait for responses, for middlewares: finds the call of each response, and ends the calls for which no
//! server is left.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::PoisonError;

use futures_channel::oneshot;

use crate::sync::{Mutex, MutexGuard};

/// Calls of one client that wait for a response, and the servers that may answer them.
///
/// Not every middleware tells a client that a server died with its request. But each of them reports that the server
/// has gone. A call ends when all servers that existed when it was sent have gone.
///
/// ```
/// use futures::FutureExt;
/// use rospin_node::Calls;
///
/// let calls = Calls::default();
/// calls.server_came(b"server1");
/// let (first, answer) = calls.begin();
/// calls.respond(first, "yes");
/// assert_eq!(answer.now_or_never(), Some(Ok("yes")));
/// let (second, lost) = calls.begin();
/// let (third, _) = calls.begin();
/// calls.forget(third);
/// assert_eq!((calls.server_count(), calls.server_went(b"server1")), (1, Some(second)));
/// calls.end_until(second);
/// assert!(lost.now_or_never().unwrap().is_err(), "nobody is left to answer");
/// calls.close();
/// assert!(calls.is_closed() && calls.begin_as(10).now_or_never().unwrap().is_err());
/// ```
pub struct Calls<T>(Mutex<State<T>>);

struct State<T> {
    waiting: BTreeMap<i64, Waiting<T>>,
    /// The number of the call that began last; zero before the first one.
    last: i64,
    /// Servers by id, each with the number of its arrival, from 1.
    servers: BTreeMap<Vec<u8>, u64>,
    arrivals: u64,
    is_closed: bool,
}

struct Waiting<T> {
    sender: oneshot::Sender<T>,
    /// The number of servers that had arrived when the call began. A server with a higher number did not get the
    /// request.
    newest: u64,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        let state =
            State { waiting: BTreeMap::new(), last: 0, servers: BTreeMap::new(), arrivals: 0, is_closed: false };
        Self(Mutex::new(state))
    }
}

impl<T> State<T> {
    fn begin(&mut self, number: i64) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.last = number;
        if !self.is_closed {
            self.waiting.insert(number, Waiting { sender, newest: self.arrivals });
        }
        receiver
    }
}

impl<T> Calls<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Every change under the lock is complete before anything can panic, so its poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call. Returns its number, from 1, and a future of its response, which fails if the call ends without
    /// one.
    ///
    /// Call it before sending the request, because the response may arrive before the sending method has returned. If
    /// no server is known after that, [forget](Self::forget) the call: no server's end would end it.
    pub fn begin(&self) -> (i64, oneshot::Receiver<T>) {
        let mut state = self.lock();
        let number = state.last + 1;
        (number, state.begin(number))
    }

    /// Begins a call as [`begin`](Self::begin) does, with a number that the middleware gives it. Each number is higher
    /// than the one of the call before.
    pub fn begin_as(&self, number: i64) -> oneshot::Receiver<T> {
        self.lock().begin(number)
    }

    /// Passes a response to its call, unless the call has ended.
    pub fn respond(&self, number: i64, response: T) {
        let waiting = self.lock().waiting.remove(&number);
        if let Some(waiting) = waiting {
            // The caller may have dropped the future meanwhile.
            let _ = waiting.sender.send(response);
        }
    }

    /// Forgets a call whose caller does not wait any more.
    pub fn forget(&self, number: i64) {
        let forgotten = self.lock().waiting.remove(&number);
        drop(forgotten);
    }

    /// Notes that a server appeared. Does nothing if the server is known already.
    pub fn server_came(&self, id: &[u8]) {
        let mut state = self.lock();
        if !state.servers.contains_key(id) {
            state.arrivals += 1;
            let number = state.arrivals;
            state.servers.insert(id.to_vec(), number);
        }
    }

    /// Notes that a server has gone. Returns the number of the newest call for which no server is left; `None` if every
    /// call still has one. [End](Self::end_until) that call and all earlier ones, at once or after the time that last
    /// responses may need.
    pub fn server_went(&self, id: &[u8]) -> Option<i64> {
        let mut state = self.lock();
        state.servers.remove(id);
        let oldest = state.servers.values().copied().min().unwrap_or(u64::MAX);
        // A later call has seen at least as many arrivals. So all calls before the newest orphan are orphans, too.
        let orphan = state.waiting.iter().rev().find(|(_, waiting)| waiting.newest < oldest);
        orphan.map(|(number, _)| *number)
    }

    /// Returns the number of servers that are known.
    pub fn server_count(&self) -> usize {
        self.lock().servers.len()
    }

    /// Ends the call with that number and all earlier ones, without a response.
    pub fn end_until(&self, number: i64) {
        let mut state = self.lock();
        let later = state.waiting.split_off(&number.saturating_add(1));
        let ended = std::mem::replace(&mut state.waiting, later);
        drop(state);
        // Dropping the senders wakes the callers.
        drop(ended);
    }

    /// Ends all calls, and all that begin later, because the client was dropped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let ended = std::mem::take(&mut state.waiting);
        drop(state);
        drop(ended);
    }

    /// Returns true if [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }
}

impl<T> fmt::Debug for Calls<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let waiting = state.waiting.len();
        let servers = state.servers.len();
        f.debug_struct("Calls").field("waiting", &waiting).field("servers", &servers).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_waiting(receiver: &mut oneshot::Receiver<i32>) -> bool {
        matches!(receiver.try_recv(), Ok(None))
    }

    #[test]
    fn each_call_gets_its_response() {
        let calls = Calls::default();
        calls.server_came(b"a");
        let ((one, mut first), (other, mut second)) = (calls.begin(), calls.begin());
        calls.respond(other, 2);
        calls.respond(other, 3);
        calls.respond(one, 1);
        assert_eq!((first.try_recv(), second.try_recv()), (Ok(Some(1)), Ok(Some(2))));
        let (number, mut given_up) = calls.begin();
        calls.forget(number);
        calls.respond(number, 4);
        assert!(given_up.try_recv().is_err());
    }

    #[test]
    fn a_call_ends_when_all_servers_that_it_was_sent_to_have_gone() {
        let calls = Calls::<i32>::default();
        calls.server_came(b"a");
        calls.server_came(b"a");
        let (one, mut first) = calls.begin();
        calls.server_came(b"b");
        let (other, mut second) = calls.begin();
        assert_eq!(calls.server_went(b"c"), None);
        let orphans = calls.server_went(b"a");
        assert_eq!(orphans, Some(one));
        assert!(is_waiting(&mut first));
        calls.end_until(one);
        assert!(!is_waiting(&mut first) && is_waiting(&mut second));
        calls.server_came(b"c");
        assert_eq!(calls.server_went(b"b"), Some(other));
        calls.end_until(other);
        assert!(!is_waiting(&mut second));
        assert_eq!(calls.server_count(), 1);
        assert_eq!(calls.server_went(b"c"), None);
    }

    #[test]
    fn without_a_client_a_call_ends_at_once() {
        let calls = Calls::<i32>::default();
        let (_, mut waiting) = calls.begin();
        assert!(is_waiting(&mut waiting));
        calls.close();
        assert!(!is_waiting(&mut waiting) && !is_waiting(&mut calls.begin().1) && calls.is_closed());
    }
}
