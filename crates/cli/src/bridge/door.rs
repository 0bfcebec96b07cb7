//! The door through which watchers come: a listener in front of the SDK's.
//!
//! The SDK's server accepts every connection, and tells neither whose it is nor what it has not sent yet. So the bridge
//! listens itself, reads the HTTP request with which a watcher begins, decides by the [rules](super::rules), and then
//! connects the watcher with the SDK's server, which listens on a port of this computer that nobody else is told. The
//! first message on that connection is the door's own: the [greeting](Watchers::greeting), by which the SDK's callbacks
//! learn which watcher they are called for.

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tungstenite::handshake::client::Response;
use tungstenite::handshake::machine::TryParse;
use tungstenite::handshake::server::Request;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Data, OpCode};

use super::rules::{Rules, Verdict};
use super::shared::Tell;
use super::watchers::{Watcher, Watchers};

/// Longest HTTP request or response.
const HEAD_MAX: usize = 16 << 10;

/// Time for a watcher's HTTP request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time for which a watcher may read nothing although something waits. Then it is disconnected.
const STUCK: Duration = Duration::from_secs(60);

/// Time without anything from the SDK after which nothing waits there.
const QUIET: Duration = Duration::from_secs(1);

/// The first byte of a message of a topic in the protocol.
const MESSAGE_DATA: u8 = 1;

/// The id of the channel with which the door greets. Watchers count theirs from below.
const GREETING_ID: u32 = u32::MAX;

/// The door.
pub(super) struct Door {
    pub(super) rules: Rules,
    pub(super) watchers: Arc<Watchers>,
    /// The address of the SDK's server.
    pub(super) server: SocketAddr,
    pub(super) tell: Tell,
}

impl Door {
    /// Lets watchers in. Never ends.
    pub(super) async fn open(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (stream, address) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(_) => {
                    // No file descriptors are left, mostly.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let door = Arc::clone(&self);
            // Its failure is the end of one connection.
            tokio::spawn(async move { drop(door.serve(stream, address).await) });
        }
    }

    async fn serve(&self, mut stream: TcpStream, address: SocketAddr) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // Counted from the beginning, so that connections that say nothing are bounded, too.
        let Some(watcher) = self.watchers.enter() else {
            return refuse(&mut stream, "503 Service Unavailable", "too many programs watch already").await;
        };
        let _left = Leaving { watchers: &self.watchers, number: watcher.number };
        let Ok(read) = timeout(HEAD_TIME, read_head::<Request>(&mut stream)).await else { return Ok(()) };
        let Ok((request, bytes, length)) = read else {
            return refuse(&mut stream, "400 Bad Request", "this is no request for a WebSocket").await;
        };
        match self.rules.judge(&request) {
            Verdict::Admitted { may_change: true } => watcher.allow_changes(),
            Verdict::Admitted { may_change: false } => {}
            Verdict::Refused(status, sentence) => return refuse(&mut stream, status, &sentence).await,
        }
        let mut server = TcpStream::connect(self.server).await?;
        server.set_nodelay(true)?;
        server.write_all(&bytes[..length]).await?;
        let (response, answered, head) = read_head::<Response>(&mut server).await?;
        stream.write_all(&answered[..head]).await?;
        if response.status().as_u16() != 101 {
            return Ok(());
        }
        server.write_all(&greeting(&self.watchers.greeting(&watcher))).await?;
        // A watcher that does not wait for the response has sent messages already.
        server.write_all(&bytes[length..]).await?;
        let (mut from_watcher, mut to_watcher) = stream.split();
        let (mut from_server, mut to_server) = server.split();
        let rights = if watcher.may_change() { ", and may publish, call services and set parameters" } else { "" };
        (self.tell)(&format!("{address} watches{rights}"));
        let end = tokio::select! {
            end = pass(&mut from_server, &mut to_watcher, answered[head..].to_vec(), &watcher) => end,
            end = tokio::io::copy(&mut from_watcher, &mut to_server) => end.map(|_| ()),
        };
        let reason = match &end {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => ": it has read nothing for a minute",
            _ => "",
        };
        (self.tell)(&format!("{address} does not watch any more{reason}"));
        end
    }
}

/// Forgets a watcher when its connection ends.
struct Leaving<'a> {
    watchers: &'a Watchers,
    number: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.watchers.leave(self.number);
    }
}

/// Reads a request or a response. Returns all bytes that were read, too, and the length of its head.
async fn read_head<T: TryParse>(stream: &mut TcpStream) -> io::Result<(T, Vec<u8>, usize)> {
    let mut bytes = Vec::new();
    loop {
        if bytes.len() >= HEAD_MAX || stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if let Some((length, head)) = T::try_parse(&bytes).map_err(io::Error::other)? {
            return Ok((head, bytes, length));
        }
    }
}

/// Answers a request that is not granted.
async fn refuse(stream: &mut TcpStream, status: &str, sentence: &str) -> io::Result<()> {
    let length = sentence.len() + 1;
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{sentence}\n"
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

/// Returns the frame with which the door announces a watcher to the SDK: the watcher advertises a channel with this
/// topic.
fn greeting(topic: &str) -> Vec<u8> {
    let channel = serde_json::json!({ "id": GREETING_ID, "topic": topic, "encoding": "json", "schemaName": "" });
    let text = serde_json::json!({ "op": "advertise", "channels": [channel] }).to_string();
    // Clients must mask their frames. With zeros, the text stays as it is.
    let header = FrameHeader { opcode: OpCode::Data(Data::Text), mask: Some([0; 4]), ..FrameHeader::default() };
    let mut frame = Vec::new();
    // A vector takes everything.
    let _ = header.format(text.len() as u64, &mut frame);
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// Passes on what the SDK sends, first what has been read already, and counts the messages in it. Ends with the
/// connection, and with an error if the watcher reads nothing for too long.
async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    first: Vec<u8>,
    watcher: &Watcher,
) -> io::Result<()> {
    let mut frames = Frames::default();
    let mut bytes = vec![0; 1 << 16];
    let mut length = first.len();
    bytes[..length].copy_from_slice(&first);
    loop {
        let mut written = 0;
        while written < length {
            let taken =
                timeout(STUCK, to.write(&bytes[written..length])).await.map_err(|_| io::ErrorKind::TimedOut)??;
            watcher.took_bytes(taken as u64);
            written += taken;
        }
        frames.pass(&bytes[..length], |size| watcher.took_message(size));
        length = loop {
            match timeout(QUIET, from.read(&mut bytes)).await {
                Ok(Ok(0)) => return Ok(()),
                Ok(read) => break read?,
                Err(_) => watcher.has_nothing_waiting(),
            }
        };
    }
}

/// Finds the messages of topics in a stream of a server's frames.
#[derive(Default)]
struct Frames {
    /// Bytes of a header that is not complete.
    header: Vec<u8>,
    is_binary: bool,
    is_message: bool,
    length: u64,
    left: u64,
}

impl Frames {
    /// Looks at the next bytes. Calls `done` with the length of each message that ends in them.
    fn pass(&mut self, mut bytes: &[u8], mut done: impl FnMut(u64)) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.left == 0 {
                self.header.push(*first);
                bytes = rest;
                if let Ok(Some((header, length))) = FrameHeader::parse(&mut Cursor::new(&self.header)) {
                    self.header.clear();
                    self.is_binary = header.opcode == OpCode::Data(Data::Binary);
                    self.length = length;
                    self.left = length;
                }
                continue;
            }
            if self.left == self.length {
                self.is_message = self.is_binary && *first == MESSAGE_DATA;
            }
            let taken = self.left.min(bytes.len() as u64);
            self.left -= taken;
            bytes = &bytes[taken as usize..];
            if self.left == 0 && self.is_message {
                done(self.length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(opcode: OpCode, payload: &[u8]) -> Vec<u8> {
        let header = FrameHeader { opcode, ..FrameHeader::default() };
        let mut frame = Vec::new();
        header.format(payload.len() as u64, &mut frame).unwrap();
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn messages_of_topics_are_found_wherever_the_stream_is_cut() {
        let (text, binary) = (OpCode::Data(Data::Text), OpCode::Data(Data::Binary));
        let mut stream = frame(text, b"{\"op\":\"serverInfo\"}");
        stream.extend(frame(binary, &[MESSAGE_DATA; 20]));
        stream.extend(frame(binary, &[3; 300]));
        stream.extend(frame(binary, &[MESSAGE_DATA; 70_000]));
        stream.extend(frame(text, b""));
        stream.extend(frame(binary, &[MESSAGE_DATA; 14]));
        for size in [1, 2, 3, 7, 1000, stream.len()] {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for bytes in stream.chunks(size) {
                frames.pass(bytes, |length| found.push(length));
            }
            assert_eq!(found, [20, 70_000, 14], "{size}");
        }
    }

    #[test]
    fn greeting_is_a_masked_frame() {
        let frame = greeting("secret/7");
        let mut cursor = Cursor::new(&frame);
        let (header, length) = FrameHeader::parse(&mut cursor).unwrap().unwrap();
        assert_eq!((header.mask, header.is_final), (Some([0; 4]), true));
        let text = &frame[cursor.position() as usize..];
        assert_eq!(text.len() as u64, length);
        let value: serde_json::Value = serde_json::from_slice(text).unwrap();
        assert_eq!(value["channels"][0]["topic"], "secret/7");
    }
}
