//! A thread that stands for a middleware's: it hands each message on from the publisher's socket to one of the
//! subscriber's own.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::threads::Crew;
use super::topics::TOPICS;
use super::transport::{Found, Inlet, Outlet, pair};

/// Starts the thread, with the priority of the middleware's threads. Returns the sockets that it hands messages on to.
/// It ends by itself when the publisher has gone.
pub(crate) fn start(inlets: [Inlet; TOPICS], crew: &Crew) -> io::Result<[Inlet; TOPICS]> {
    let (mut ways, mut handed_on) = (Vec::new(), Vec::new());
    for from in inlets {
        let (to, inlet) = pair()?;
        ways.push(Some((from, to)));
        handed_on.push(inlet);
    }
    // The end of a topic is seen at its own socket, so no other thread waits for this one.
    crew.spawn("middleware", crew.middleware(), move || run(ways))?;
    Ok(<[Inlet; TOPICS]>::try_from(handed_on).expect("there is one for each topic"))
}

/// Hands messages on until all topics have ended. The end of a topic is handed on by the drop of its outlet.
fn run(mut ways: Vec<Option<(Inlet, Outlet)>>) -> io::Result<()> {
    while ways.iter().any(Option::is_some) {
        wait(&ways)?;
        for way in &mut ways {
            while let Some((from, to)) = way {
                match from.take()? {
                    // A socket without room drops the message, as a queue does.
                    Found::Message(message) => drop(to.send(message)?),
                    Found::Nothing => break,
                    Found::End => *way = None,
                }
            }
        }
    }
    Ok(())
}

/// Waits until a topic has a message or has ended.
fn wait(ways: &[Option<(Inlet, Outlet)>]) -> io::Result<()> {
    let open = ways.iter().flatten();
    let mut waited: Vec<_> = open.map(|(from, _)| PollFd::new(from.fd(), PollFlags::IN)).collect();
    match poll(&mut waited, None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use rospin_engine::os::CoreSet;

    use super::super::transport::Message;
    use super::*;

    #[test]
    fn messages_and_the_end_are_handed_on() {
        let ends: [_; TOPICS] = std::array::from_fn(|_| pair().unwrap());
        let (outlets, inlets): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        for (topic, outlet) in outlets.iter().enumerate() {
            outlet.send(Message { published_ns: 7, number: topic as u64 }).unwrap();
        }
        drop(outlets);
        let core = CoreSet::of_current_thread().unwrap().as_slice()[0];
        let handed_on = start(<[Inlet; TOPICS]>::try_from(inlets).unwrap(), &Crew::new(core, false)).unwrap();
        for (topic, inlet) in handed_on.iter().enumerate() {
            let next = || {
                poll(&mut [PollFd::new(inlet.fd(), PollFlags::IN)], None).unwrap();
                inlet.take().unwrap()
            };
            assert_eq!(next(), Found::Message(Message { published_ns: 7, number: topic as u64 }));
            assert_eq!(next(), Found::End);
        }
    }
}
