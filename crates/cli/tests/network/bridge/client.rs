//! A client of Foxglove's WebSocket protocol, by another library than the server's SDK.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::HandshakeError;
use tungstenite::{Message, WebSocket};

/// Longest time that a test waits for something.
const LONGEST: Duration = Duration::from_secs(30);

/// Message of the server.
pub(crate) enum News {
    /// A message of the protocol in JSON.
    Told(Value),
    /// A message of a topic: its name, and its bytes.
    Message(String, Vec<u8>),
    /// The response to a call, by the call's number.
    Response(u32, Vec<u8>),
    /// The server's time.
    Time,
}

/// A program that watches.
pub(crate) struct Watcher {
    socket: WebSocket<TcpStream>,
    /// Channels by topic.
    pub(crate) channels: BTreeMap<String, Value>,
    pub(crate) services: BTreeMap<String, Value>,
    /// Topics by subscription.
    subscriptions: BTreeMap<u32, String>,
    next: u32,
}

impl Watcher {
    /// Connects. The error is the HTTP status, if the server refuses.
    pub(crate) fn connect(address: &str, path: &str, headers: &[(&'static str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://{address}{path}").into_client_request().expect("an address");
        request.headers_mut().insert("sec-websocket-protocol", "foxglove.sdk.v1".parse().expect("a value"));
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a value"));
        }
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket");
        let mut result = tungstenite::client(request, stream);
        let begin = Instant::now();
        let socket = loop {
            match result {
                Ok((socket, _)) => break socket,
                Err(HandshakeError::Interrupted(handshake)) => {
                    assert!(begin.elapsed() < LONGEST, "no answer to the handshake");
                    result = handshake.handshake();
                }
                Err(HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                    return Err(response.status().as_u16());
                }
                Err(HandshakeError::Failure(error)) => panic!("{error}"),
            }
        };
        Ok(Self {
            socket,
            channels: BTreeMap::new(),
            services: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            next: 0,
        })
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).expect("a connection");
    }

    /// Returns the next message, if one comes within a moment.
    pub(crate) fn next(&mut self) -> Option<News> {
        let message = match self.socket.read() {
            Ok(message) => message,
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        match message {
            Message::Text(text) => Some(self.told(serde_json::from_str(&text).expect("JSON"))),
            Message::Binary(bytes) => self.binary(&bytes),
            other => panic!("{other:?}"),
        }
    }

    fn told(&mut self, told: Value) -> News {
        let list = |name: &str| told[name].as_array().cloned().unwrap_or_default();
        match told["op"].as_str().unwrap_or_default() {
            "advertise" => {
                for channel in list("channels") {
                    self.channels.insert(channel["topic"].as_str().expect("a topic").to_owned(), channel);
                }
            }
            "unadvertise" => {
                let gone = list("channelIds");
                self.channels.retain(|_, channel| !gone.contains(&channel["id"]));
            }
            "advertiseServices" => {
                for service in list("services") {
                    self.services.insert(service["name"].as_str().expect("a name").to_owned(), service);
                }
            }
            "unadvertiseServices" => {
                let gone = list("serviceIds");
                self.services.retain(|_, service| !gone.contains(&service["id"]));
            }
            _ => {}
        }
        News::Told(told)
    }

    fn binary(&self, bytes: &[u8]) -> Option<News> {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        match bytes[0] {
            1 => {
                let topic = self.subscriptions.get(&number(1))?;
                Some(News::Message(topic.clone(), bytes[13..].to_vec()))
            }
            2 => Some(News::Time),
            3 => {
                let encoding = number(9) as usize;
                Some(News::Response(number(5), bytes[13 + encoding..].to_vec()))
            }
            other => panic!("{other}"),
        }
    }

    /// Reads until `found` finds something.
    pub(crate) fn until<T>(&mut self, what: &str, mut found: impl FnMut(&mut Self, &News) -> Option<T>) -> T {
        let begin = Instant::now();
        while begin.elapsed() < LONGEST {
            if let Some(news) = self.next()
                && let Some(found) = found(self, &news)
            {
                return found;
            }
        }
        panic!("{what} does not come; there are {} channels", self.channels.len());
    }

    /// Waits for a topic.
    pub(crate) fn find(&mut self, topic: &str) -> Value {
        if let Some(channel) = self.channels.get(topic) {
            return channel.clone();
        }
        self.until(topic, |watcher, _| watcher.channels.get(topic).cloned())
    }

    /// Waits for a service.
    pub(crate) fn find_service(&mut self, service: &str) -> Value {
        if let Some(found) = self.services.get(service) {
            return found.clone();
        }
        self.until(service, |watcher, _| watcher.services.get(service).cloned())
    }

    /// Waits for a topic, and subscribes to it.
    pub(crate) fn subscribe(&mut self, topic: &str) -> u32 {
        let channel = self.find(topic)["id"].clone();
        self.next += 1;
        self.subscriptions.insert(self.next, topic.to_owned());
        self.send(&json!({ "op": "subscribe", "subscriptions": [{ "id": self.next, "channelId": channel }] }));
        self.next
    }

    pub(crate) fn unsubscribe(&mut self, subscription: u32) {
        self.subscriptions.remove(&subscription);
        self.send(&json!({ "op": "unsubscribe", "subscriptionIds": [subscription] }));
    }

    /// Waits for a message of a topic.
    pub(crate) fn message(&mut self, topic: &str) -> Vec<u8> {
        self.until(topic, |_, news| match news {
            News::Message(of, bytes) if of == topic => Some(bytes.clone()),
            _ => None,
        })
    }

    /// Waits for a message of that kind.
    pub(crate) fn told_of(&mut self, op: &str) -> Value {
        self.until(op, |_, news| match news {
            News::Told(told) if told["op"] == op => Some(told.clone()),
            _ => None,
        })
    }

    /// Waits for a status with this text in it.
    pub(crate) fn status(&mut self, text: &str) {
        self.until(text, |_, news| match news {
            News::Told(told) if told["op"] == "status" => {
                told["message"].as_str().is_some_and(|message| message.contains(text)).then_some(())
            }
            _ => None,
        });
    }

    /// Advertises a topic of one's own.
    pub(crate) fn advertise(&mut self, id: u32, topic: &str, schema_name: &str) {
        let channel = json!({ "id": id, "topic": topic, "encoding": "cdr", "schemaName": schema_name });
        self.send(&json!({ "op": "advertise", "channels": [channel] }));
    }

    pub(crate) fn publish(&mut self, id: u32, bytes: &[u8]) {
        let message = [&[1][..], &id.to_le_bytes(), bytes].concat();
        self.socket.send(Message::binary(message)).expect("a connection");
    }

    /// Calls a service, and returns the response, or the reason for which there is none.
    pub(crate) fn call(&mut self, service: &str, request: &[u8]) -> Result<Vec<u8>, String> {
        let id = self.find_service(service)["id"].as_u64().expect("a number") as u32;
        self.next += 1;
        let call = self.next;
        let encoding = b"cdr";
        let length = (encoding.len() as u32).to_le_bytes();
        let message = [&[2][..], &id.to_le_bytes(), &call.to_le_bytes(), &length, encoding, request].concat();
        self.socket.send(Message::binary(message)).expect("a connection");
        self.until("a response", |_, news| match news {
            News::Response(of, bytes) if *of == call => Some(Ok(bytes.clone())),
            News::Told(told) if told["op"] == "serviceCallFailure" && told["callId"] == call => {
                Some(Err(told["message"].as_str().unwrap_or_default().to_owned()))
            }
            _ => None,
        })
    }

    /// Returns the values of parameters by their names; of all, if no names are given.
    pub(crate) fn parameters(&mut self, names: &[&str]) -> BTreeMap<String, Value> {
        self.send(&json!({ "op": "getParameters", "parameterNames": names, "id": "get" }));
        self.values("get")
    }

    /// Waits for the values of parameters that were asked for by that id, or for those that have changed.
    pub(crate) fn values(&mut self, id: &str) -> BTreeMap<String, Value> {
        let told = self.until("parameters", |_, news| match news {
            News::Told(told) if told["op"] == "parameterValues" && told["id"].as_str().unwrap_or_default() == id => {
                Some(told.clone())
            }
            _ => None,
        });
        let list = told["parameters"].as_array().cloned().unwrap_or_default();
        list.into_iter().map(|of| (of["name"].as_str().expect("a name").to_owned(), of["value"].clone())).collect()
    }
}
