//! Messages between a client and its server, as bytes: little-endian numbers, and texts with their lengths before them.
//!
//! A message is one packet of the socket. Everything is checked here that can be checked without knowing the client.

use std::time::Duration;

/// The version of this protocol.
pub const VERSION: u32 = 1;
/// The largest message in bytes.
pub const MESSAGE_MAX: usize = 16 << 10;
/// The longest name in bytes.
pub const NAME_MAX: usize = 128;
/// The largest number of segments of a request.
pub const SEGMENTS_MAX: usize = 64;
/// The longest arguments of a segment in bytes.
pub const ARGUMENTS_MAX: usize = 128;
/// The largest number of kernels.
pub const KERNELS_MAX: usize = 64;
/// The longest reason in bytes. Longer ones are cut.
pub const REASON_MAX: usize = 1024;

/// A part of the client's memory: offset and length in bytes.
pub type Place = (u64, u64);

/// A segment of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentMessage {
    /// The number of the kernel.
    pub kernel: u32,
    /// The longest time that the segment keeps the device busy, if it has a bound.
    pub bound: Option<Duration>,
    /// The memory that the kernel reads.
    pub input: Place,
    /// The memory that the kernel writes.
    pub output: Place,
    /// The kernel's own arguments.
    pub arguments: Vec<u8>,
}

/// A message from a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToServer {
    /// The first message, which comes with the client's memory.
    Hello {
        /// The version of the protocol.
        version: u32,
        /// The name of the client.
        name: String,
    },
    /// A request.
    Request {
        /// The number by which its answer is known.
        number: u64,
        /// Its segments.
        segments: Vec<SegmentMessage>,
    },
    /// Nobody waits for that request any more.
    Cancel {
        /// The number of the request.
        number: u64,
    },
}

/// The end of a request, or the reason for which there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It has run: nanoseconds from its arrival to its start and to its end, and nanoseconds of device time.
    Done {
        /// From the request's arrival at the server to the start of its first segment.
        started: u64,
        /// From the request's arrival to the end of its last segment.
        finished: u64,
        /// Device time.
        busy: u64,
    },
    /// It was not accepted, for this reason.
    Refused(String),
    /// It was accepted, and ended with an error.
    Failed(String),
}

/// A message from the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToClient {
    /// The client is known.
    Welcome {
        /// The names of the kernels, by their numbers.
        kernels: Vec<String>,
    },
    /// The client is not accepted, for this reason. The server closes the socket.
    Rejected(String),
    /// The end of a request.
    Ended {
        /// The number of the request.
        number: u64,
        /// The end of the request.
        answer: Answer,
    },
}

/// Error of a message that cannot be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a message cannot be understood")]
pub struct Garbage;

impl ToServer {
    /// Returns the message as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Hello { version, name } => {
                out.byte(0).number(u64::from(*version)).text(name);
            }
            Self::Request { number, segments } => {
                out.byte(1).number(*number).number(segments.len() as u64);
                for segment in segments {
                    let bound =
                        segment.bound.map_or(u64::MAX, |bound| u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
                    out.number(u64::from(segment.kernel)).number(bound);
                    for number in [segment.input.0, segment.input.1, segment.output.0, segment.output.1] {
                        out.number(number);
                    }
                    out.bytes(&segment.arguments);
                }
            }
            Self::Cancel { number } => {
                out.byte(2).number(*number);
            }
        }
        out.0
    }

    /// Returns the message that the bytes are.
    ///
    /// # Errors
    /// If they are none, or one with more of anything than a message may have.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut from = Reader(bytes);
        let message = match from.byte()? {
            0 => Self::Hello { version: from.small()?, name: from.text(NAME_MAX)? },
            1 => {
                let number = from.number()?;
                let count = from.number()?;
                if count > SEGMENTS_MAX as u64 {
                    return Err(Garbage);
                }
                let segments = (0..count).map(|_| from.segment()).collect::<Result<_, _>>()?;
                Self::Request { number, segments }
            }
            2 => Self::Cancel { number: from.number()? },
            _ => return Err(Garbage),
        };
        from.end().map(|()| message)
    }
}

impl ToClient {
    /// Returns the message as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Welcome { kernels } => {
                out.byte(0).number(kernels.len() as u64);
                for name in kernels {
                    out.text(name);
                }
            }
            Self::Rejected(reason) => _ = out.byte(1).text(cut(reason)),
            Self::Ended { number, answer } => {
                out.byte(2).number(*number);
                match answer {
                    Answer::Done { started, finished, busy } => {
                        out.byte(0).number(*started).number(*finished).number(*busy);
                    }
                    Answer::Refused(reason) => _ = out.byte(1).text(cut(reason)),
                    Answer::Failed(reason) => _ = out.byte(2).text(cut(reason)),
                }
            }
        }
        out.0
    }

    /// Returns the message that the bytes are.
    ///
    /// # Errors
    /// If they are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut from = Reader(bytes);
        let message = match from.byte()? {
            0 => {
                let count = from.number()?;
                if count > KERNELS_MAX as u64 {
                    return Err(Garbage);
                }
                Self::Welcome { kernels: (0..count).map(|_| from.text(NAME_MAX)).collect::<Result<_, _>>()? }
            }
            1 => Self::Rejected(from.text(REASON_MAX)?),
            2 => {
                let number = from.number()?;
                let answer = match from.byte()? {
                    0 => Answer::Done { started: from.number()?, finished: from.number()?, busy: from.number()? },
                    1 => Answer::Refused(from.text(REASON_MAX)?),
                    2 => Answer::Failed(from.text(REASON_MAX)?),
                    _ => return Err(Garbage),
                };
                Self::Ended { number, answer }
            }
            _ => return Err(Garbage),
        };
        from.end().map(|()| message)
    }
}

/// Returns the text without what exceeds [`REASON_MAX`].
fn cut(reason: &str) -> &str {
    let end = (0..=reason.len().min(REASON_MAX)).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or(0)]
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).0.extend(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Garbage> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Garbage)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Garbage> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Result<u64, Garbage> {
        self.take(8)?.try_into().map(u64::from_le_bytes).map_err(|_| Garbage)
    }

    fn small(&mut self) -> Result<u32, Garbage> {
        u32::try_from(self.number()?).map_err(|_| Garbage)
    }

    fn bytes(&mut self, longest: usize) -> Result<&'a [u8], Garbage> {
        let length = usize::try_from(self.number()?).map_err(|_| Garbage)?;
        if length > longest { Err(Garbage) } else { self.take(length) }
    }

    fn text(&mut self, longest: usize) -> Result<String, Garbage> {
        std::str::from_utf8(self.bytes(longest)?).map(str::to_owned).map_err(|_| Garbage)
    }

    fn segment(&mut self) -> Result<SegmentMessage, Garbage> {
        let kernel = self.small()?;
        let bound = self.number()?;
        let bound = if bound < u64::MAX { Some(Duration::from_nanos(bound)) } else { None };
        let input = (self.number()?, self.number()?);
        let output = (self.number()?, self.number()?);
        Ok(SegmentMessage { kernel, bound, input, output, arguments: self.bytes(ARGUMENTS_MAX)?.to_vec() })
    }

    fn end(&self) -> Result<(), Garbage> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbage) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests() -> Vec<ToServer> {
        let segment = |n: u64| SegmentMessage {
            kernel: n as u32,
            bound: if n.is_multiple_of(2) { Some(Duration::from_nanos(n)) } else { None },
            input: (n, 2 * n),
            output: (u64::MAX, n),
            arguments: vec![7; n as usize],
        };
        let full = (0..SEGMENTS_MAX as u64).map(|n| SegmentMessage { arguments: vec![1; ARGUMENTS_MAX], ..segment(n) });
        vec![
            ToServer::Hello { version: VERSION, name: "camera".into() },
            ToServer::Request { number: u64::MAX, segments: (0..5).map(segment).collect() },
            ToServer::Request { number: 0, segments: full.collect() },
            ToServer::Cancel { number: 9 },
        ]
    }

    fn answers() -> Vec<ToClient> {
        let answers = [
            Answer::Done { started: 1, finished: 2, busy: 3 },
            Answer::Refused("full".into()),
            Answer::Failed("ü".into()),
        ];
        let mut all = vec![
            ToClient::Welcome { kernels: (0..KERNELS_MAX).map(|n| format!("{n:0width$}", width = NAME_MAX)).collect() },
            ToClient::Rejected("who?".into()),
        ];
        all.extend(answers.map(|answer| ToClient::Ended { number: 4, answer }));
        all
    }

    #[test]
    fn messages_survive_the_socket_and_fit_into_a_packet() {
        for message in requests() {
            let bytes = message.encode();
            assert!(bytes.len() <= MESSAGE_MAX, "{}", bytes.len());
            assert_eq!(ToServer::decode(&bytes), Ok(message));
        }
        for message in answers() {
            let bytes = message.encode();
            assert!(bytes.len() <= MESSAGE_MAX, "{}", bytes.len());
            assert_eq!(ToClient::decode(&bytes), Ok(message));
        }
    }

    #[test]
    fn a_message_with_one_byte_more_or_less_is_garbage() {
        for bytes in requests().iter().map(ToServer::encode) {
            for end in 0..bytes.len() {
                assert_eq!(ToServer::decode(&bytes[..end]), Err(Garbage));
            }
            assert_eq!(ToServer::decode(&[&bytes[..], &[0]].concat()), Err(Garbage));
        }
        for bytes in answers().iter().map(ToClient::encode) {
            for end in 0..bytes.len() {
                assert_eq!(ToClient::decode(&bytes[..end]), Err(Garbage));
            }
            assert_eq!(ToClient::decode(&[&bytes[..], &[0]].concat()), Err(Garbage));
        }
    }

    #[test]
    fn more_than_a_message_may_have_is_garbage() {
        let ToServer::Request { number, mut segments } = requests().swap_remove(2) else { panic!("a request") };
        segments.push(segments[0].clone());
        assert_eq!(ToServer::decode(&ToServer::Request { number, segments }.encode()), Err(Garbage));
        let name = "n".repeat(NAME_MAX + 1);
        assert_eq!(ToServer::decode(&ToServer::Hello { version: 1, name }.encode()), Err(Garbage));
        let reason = "ü".repeat(REASON_MAX);
        let Ok(ToClient::Rejected(cut)) = ToClient::decode(&ToClient::Rejected(reason).encode()) else {
            panic!("a reason")
        };
        assert_eq!(cut.len(), REASON_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_garbage(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(message) = ToServer::decode(&bytes) {
                prop_assert_eq!(message.encode(), &bytes[..]);
            }
            if let Ok(message) = ToClient::decode(&bytes) {
                prop_assert_eq!(message.encode(), &bytes[..]);
            }
        }
    }
}
