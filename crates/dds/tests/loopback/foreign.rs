//! An implementation other than Cyclone DDS, in both roles of a service: RustDDS, whose requests and responses have an
//! identity beside them, as those of Fast DDS.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rospin_dds::{CallError, Client, Node};
use rospin_engine::{ClockKind, Executor};
use rustdds::no_key::{DataReaderCdr, DataWriter};
use rustdds::{RTPSEntity, SampleIdentity, SequenceNumber, WriteOptionsBuilder};

use crate::common::stranger::{Raw, Stranger};
use crate::common::{AddRequest, AddResponse, AddTwoInts, LOOPBACK, context, domain_id, executor, join, options, wait};

const REQUEST: &str = "example_interfaces::srv::dds_::AddTwoInts_Request_";
const RESPONSE: &str = "example_interfaces::srv::dds_::AddTwoInts_Response_";

/// A request as it is without a header: the two numbers, and nothing before them.
fn request(a: i64, b: i64) -> Vec<u8> {
    [a.to_le_bytes(), b.to_le_bytes()].concat()
}

fn serve(executor: &Executor, node: &Node) -> impl Sized + use<> {
    let group = executor.create_group("server", ());
    let server = node.on(&group).create_service::<AddTwoInts, _>("add", AddRequest::add).unwrap();
    (group, server)
}

/// Waits for the next response, and returns its identity and sum.
fn next(executor: &Executor, responses: &mut DataReaderCdr<i64>) -> (SampleIdentity, i64) {
    wait(executor, "the response comes", async {
        loop {
            if let Some(sample) = responses.take_next_sample().unwrap()
                && let Some(related) = sample.sample_info().related_sample_identity()
            {
                return (related, *sample.value());
            }
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await;
        }
    })
}

/// Sends the request until there is a response: the first ones may be lost, before their sender has been heard.
fn call(
    executor: &Executor,
    requests: &DataWriter<Vec<u8>, Raw>,
    responses: &mut DataReaderCdr<i64>,
    names: Option<SampleIdentity>,
) -> (SampleIdentity, i64) {
    let mut sent = Vec::new();
    wait(executor, "the first response comes", async {
        loop {
            let options = WriteOptionsBuilder::new().related_sample_identity_opt(names).build();
            sent.push(requests.write_with_options(request(2, 3), options).unwrap());
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(50)).await;
            if let Some(sample) = responses.take_next_sample().unwrap() {
                let related = sample.sample_info().related_sample_identity().expect("an identity");
                let is_of_sent = sent.iter().any(|sent| sent.sequence_number == related.sequence_number);
                assert!(is_of_sent, "{related:?} of {sent:?}");
                return (related, *sample.value());
            }
        }
    })
}

#[test]
fn clients_without_headers_are_answered() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("adder").unwrap();
    let _server = serve(&executor, &node);
    let stranger = Stranger::new(id);
    let mut responses = stranger.reader("rr/addReply", RESPONSE);
    let requests = stranger.writer(&executor, "rq/addRequest", REQUEST);
    // A request that names nobody is answered to its writer.
    let (related, sum) = call(&executor, &requests, &mut responses, None);
    assert_eq!((related.writer_guid, sum), (requests.guid(), 5));
    // One that names the reader is answered to that.
    let names = SampleIdentity { writer_guid: responses.guid(), sequence_number: SequenceNumber::UNKNOWN };
    let options = WriteOptionsBuilder::new().related_sample_identity(names).build();
    let sent = requests.write_with_options(request(4, 5), options).unwrap();
    let response = loop {
        let (related, sum) = next(&executor, &mut responses);
        if related.sequence_number == sent.sequence_number {
            break (related.writer_guid, sum);
        }
    };
    assert_eq!(response, (responses.guid(), 9));
    // A client with headers is answered beside it.
    let client = node.create_client::<AddTwoInts>("add").unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    assert_eq!(wait(&executor, "it answers", client.call(AddRequest { a: 5, b: 6 })), Ok(AddResponse { sum: 11 }));
    assert!(incidents.lock().unwrap().is_empty());
}

/// Discovery may find the writer of a client before its reader.
#[test]
fn a_response_waits_for_its_client_to_be_whole() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("adder").unwrap();
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    let group = executor.create_group("server", ());
    let add = move |request: AddRequest| {
        count.fetch_add(1, Ordering::Relaxed);
        request.add()
    };
    let server = node.on(&group).create_service::<AddTwoInts, _>("add", add).unwrap();
    let stranger = Stranger::new(id);
    let requests = stranger.writer(&executor, "rq/addRequest", REQUEST);
    wait(&executor, "a request is served", async {
        while served.load(Ordering::Relaxed) == 0 {
            requests.write(request(2, 3), None).unwrap();
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(50)).await;
        }
    });
    let mut responses = stranger.reader("rr/addReply", RESPONSE);
    let (related, sum) = next(&executor, &mut responses);
    assert_eq!((related.writer_guid, sum, server.unsent_responses()), (requests.guid(), 5, 0));
}

/// Answers requests to the stranger's server, until the future resolves.
fn answer_while<T>(
    executor: &Executor,
    requests: &mut DataReaderCdr<(i64, i64)>,
    responses: &DataWriter<Vec<u8>, Raw>,
    future: impl Future<Output = T>,
) -> T {
    let answer = async {
        loop {
            while let Some(sample) = requests.take_next_sample().unwrap() {
                let asked = sample.sample_info().sample_identity();
                let named = sample.sample_info().related_sample_identity().expect("the client's reader");
                let to = SampleIdentity { writer_guid: named.writer_guid, sequence_number: asked.sequence_number };
                let (a, b) = *sample.value();
                let options = WriteOptionsBuilder::new().related_sample_identity(to).build();
                responses.write_with_options((a + b).to_le_bytes().to_vec(), options).unwrap();
            }
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await;
        }
    };
    wait(executor, "the future resolves", async {
        futures::future::select(std::pin::pin!(future), std::pin::pin!(answer)).await.factor_first().0
    })
}

#[test]
fn servers_without_headers_are_called() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("caller").unwrap();
    let clients: [Client<AddTwoInts>; 2] = [(); 2].map(|()| node.create_client("add").unwrap());
    let stranger = Stranger::new(id);
    let mut requests = stranger.reader("rq/addRequest", REQUEST);
    let responses = stranger.writer(&executor, "rr/addReply", RESPONSE);
    for n in 0..20 {
        for (client, a) in clients.iter().zip([100, 200]) {
            let called = async {
                client.wait_for_service().await;
                client.call(AddRequest { a, b: n }).await
            };
            let response = answer_while(&executor, &mut requests, &responses, called);
            assert_eq!(response, Ok(AddResponse { sum: a + n }));
        }
    }
    drop((requests, responses, stranger));
    wait(&executor, "the server is missed", async {
        while clients[0].service_is_ready() {
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await;
        }
    });
    let response = wait(&executor, "the call fails", clients[0].call(AddRequest { a: 5, b: 6 }));
    assert!(matches!(response, Err(CallError::Unavailable { .. })), "{response:?}");
}

/// A response has both parameters: the standard's, which Jazzy and later read from any vendor, and the older one of
/// Fast DDS, which Humble reads. They are looked for in a capture of the packets.
#[test]
fn packets_have_the_identity_twice() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let capture = std::env::temp_dir().join(format!("rospin-dds-{}-{id}.pcap", std::process::id()));
    let config = format!("{LOOPBACK}<Tracing><PacketCaptureFile>{}</PacketCaptureFile></Tracing>", capture.display());
    let domain = rospin_dds::Domain::join(options(id).cyclonedds_uri(config)).unwrap();
    let node = domain.ros(&context).create_node("adder").unwrap();
    let server = serve(&executor, &node);
    let stranger = Stranger::new(id);
    let mut responses = stranger.reader("rr/addReply", RESPONSE);
    let requests = stranger.writer(&executor, "rq/addRequest", REQUEST);
    let (related, _) = call(&executor, &requests, &mut responses, None);
    drop((server, node, domain));
    let packets = std::fs::read(&capture).unwrap();
    std::fs::remove_file(&capture).unwrap();
    let number = i64::from(related.sequence_number);
    let high = (number >> 32) as i32;
    let low = number as u32;
    let identity = [&requests.guid().to_bytes()[..], &high.to_le_bytes(), &low.to_le_bytes()].concat();
    let sum = [&[0, 1, 0, 0][..], &5_i64.to_le_bytes()].concat();
    let expected = [&[0x83, 0, 24, 0][..], &identity, &[0x0f, 0x80, 24, 0], &identity, &[1, 0, 0, 0], &sum].concat();
    let is_there = packets.windows(expected.len()).any(|window| window == expected);
    assert!(is_there, "{expected:02x?} is in no packet");
}
