//! A participant that shares no code with ours and knows nothing of ROS: RustDDS.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::time::Duration as StdDuration;

use futures::Stream;
use rospin_engine::{ClockKind, Executor};
use rustdds::bytes::Bytes;
use rustdds::no_key::{DataReaderCdr, DataWriter, SerializerAdapter};
use rustdds::policy::{History, Reliability};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, DomainParticipantStatusEvent, Duration, QosPolicies, QosPolicyBuilder,
    RTPSEntity, RepresentationIdentifier, StatusEvented, TopicKind,
};
use serde::de::DeserializeOwned;

use super::wait;

/// Adapter that sends bytes as they are, as little-endian CDR.
pub(crate) struct Raw;

impl SerializerAdapter<Vec<u8>> for Raw {
    type Error = io::Error;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(value: &Vec<u8>) -> io::Result<Bytes> {
        Ok(Bytes::from(value.clone()))
    }
}

fn qos() -> QosPolicies {
    let reliable = Reliability::Reliable { max_blocking_time: Duration::from_millis(100) };
    QosPolicyBuilder::new().reliability(reliable).history(History::KeepLast { depth: 1000 }).build()
}

/// Participant that knows nothing of ROS.
pub(crate) struct Stranger(DomainParticipant);

impl Stranger {
    pub(crate) fn new(domain_id: u16) -> Self {
        let builder = DomainParticipantBuilder::new(domain_id).with_only_networks([std::net::Ipv4Addr::LOCALHOST]);
        Self(builder.build().unwrap())
    }

    /// A writer that is matched with a reader.
    pub(crate) fn writer(&self, executor: &Executor, topic: &str, dds_type: &str) -> DataWriter<Vec<u8>, Raw> {
        let qos = qos();
        let topic = self.0.create_topic(topic.to_owned(), dds_type.to_owned(), &qos, TopicKind::NoKey).unwrap();
        let listener = self.0.status_listener();
        let publisher = self.0.create_publisher(&qos).unwrap();
        let writer = publisher.create_datawriter_no_key::<_, Raw>(&topic, None).unwrap();
        wait(executor, "the stranger is matched", async {
            loop {
                let event = poll_fn(|cx| Pin::new(&mut listener.as_async_status_stream()).poll_next(cx)).await;
                if let Some(DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, .. }) = event
                    && local_writer == writer.guid()
                {
                    return;
                }
            }
        });
        writer
    }

    /// A reader of values that begin as a `T`.
    pub(crate) fn reader<T: DeserializeOwned + 'static>(&self, topic: &str, dds_type: &str) -> DataReaderCdr<T> {
        let topic = self.0.create_topic(topic.to_owned(), dds_type.to_owned(), &qos(), TopicKind::NoKey).unwrap();
        self.0.create_subscriber(&qos()).unwrap().create_datareader_no_key_cdr(&topic, None).unwrap()
    }

    /// Has something heard of what the writer sends: what it sends before Cyclone DDS got a heartbeat of it is nothing
    /// to a reader that asks for nothing old. `count` is how much was heard; it grows no more once this returns.
    pub(crate) fn introduce(executor: &Executor, writer: &DataWriter<Vec<u8>, Raw>, count: impl Fn() -> u64) -> u64 {
        wait(executor, "the stranger is heard", async {
            let sleep =
                |milliseconds| executor.handle().sleep(ClockKind::Steady, StdDuration::from_millis(milliseconds));
            let before = count();
            while count() == before {
                writer.write(Vec::new(), None).unwrap();
                let _ = sleep(100).await;
            }
            let mut last = 0;
            while count() != last {
                last = count();
                let _ = sleep(300).await;
            }
            last
        })
    }
}
