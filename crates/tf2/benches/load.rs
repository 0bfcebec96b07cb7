//! The cost of a large robot: 1,000 frames at 100 Hz each, and look-ups between them.
//!
//! `cargo bench -p rospin-tf2` prints a table. The load is a second of transforms: 100 messages, each with a transform
//! of every frame. It is set into the buffer; it goes through a publisher and a listener of one process; and it is
//! decoded from CDR first, as if it came from the network. Time is the processor time of the thread, and the buffer
//! holds its full 10 seconds.

use std::hint::black_box;
use std::sync::Arc;

use rospin::msgs::geometry_msgs::msg::TransformStamped;
use rospin::msgs::tf2_msgs::msg::TFMessage;
use rospin::tf2::{Buffer, Latest, TransformListener};
use rospin::{Context, ContextOptions, Ros, SpinOptions};
use rustix::time::{ClockId, clock_gettime};

const FRAMES: usize = 1000;
const RATE_HZ: u64 = 100;
const WARM_UP_SECONDS: u64 = 11;
const MEASURED_SECONDS: u64 = 5;
/// The frames of one chain, from `frame_0` to `frame_19` and so on.
const CHAIN: usize = 20;
const LOOK_UPS: usize = 200_000;

/// Returns the processor time of this thread in seconds.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the message of all frames at that tick.
fn message(tick: u64) -> TFMessage {
    let transform = |at: usize| {
        let mut transform = TransformStamped { child_frame_id: format!("frame_{at}"), ..TransformStamped::default() };
        let parent = if at.is_multiple_of(CHAIN) { "base".to_owned() } else { format!("frame_{}", at - 1) };
        transform.header.frame_id = parent;
        transform.header.stamp.sec = 1 + (tick / RATE_HZ) as i32;
        transform.header.stamp.nanosec = (tick % RATE_HZ * (1_000_000_000 / RATE_HZ)) as u32;
        let (sin, cos) = (tick as f64 / 1e3 + at as f64).sin_cos();
        (transform.transform.rotation.z, transform.transform.rotation.w) = (sin, cos);
        transform.transform.translation.x = cos;
        transform
    };
    TFMessage { transforms: (0..FRAMES).map(transform).collect() }
}

/// Returns the share of a core that a second of load takes, in percent, after the buffer is full. `prepare` is not
/// measured.
fn measure<T>(mut prepare: impl FnMut(TFMessage) -> T, mut load: impl FnMut(T)) -> f64 {
    let mut spent = 0.0;
    for tick in 0..(WARM_UP_SECONDS + MEASURED_SECONDS) * RATE_HZ {
        let prepared = prepare(message(tick));
        let begin = cpu_time();
        load(prepared);
        if tick >= WARM_UP_SECONDS * RATE_HZ {
            spent += cpu_time() - begin;
        }
    }
    spent / MEASURED_SECONDS as f64 * 100.0
}

fn set_all(buffer: &Buffer, message: &TFMessage) {
    for transform in &message.transforms {
        buffer.set_transform(transform, "load").expect("it is valid");
    }
}

fn through_nodes() -> f64 {
    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context);
    let node = ros.create_node("robot").expect("a node");
    let listener = TransformListener::new(&node).expect("a listener");
    let publisher = node.create_publisher::<TFMessage>("/tf").expect("a publisher");
    let share = measure(Arc::new, |message| {
        publisher.publish(message).expect("it is published");
        ros.executor().spin(SpinOptions::spin_all()).expect("it is taken");
    });
    assert!(listener.buffer().has_frame("frame_999"));
    share
}

fn from_cdr() -> f64 {
    let buffer = Buffer::new();
    let encode = |message: TFMessage| rospin_wire::cdr::to_payload(&message).expect("it is encoded");
    measure(encode, |payload| {
        let message: TFMessage = rospin_wire::cdr::from_payload(&payload).expect("it is decoded");
        set_all(&buffer, &message);
    })
}

/// Returns the nanoseconds of a look-up over `hops` transforms.
fn look_up(buffer: &Buffer, hops: usize, is_latest: bool) -> f64 {
    let target = "base";
    let source = format!("frame_{}", hops - 1);
    let begin = cpu_time();
    for at in 0..LOOK_UPS {
        // The look-ups are between two samples, at times over all seconds that the buffer keeps.
        let nanos = (WARM_UP_SECONDS + MEASURED_SECONDS) * 1_000_000_000 - (at as u64 * 7_654_321) % 8_000_000_000;
        let when = if is_latest { Latest } else { rospin::Time::from_nanos(nanos).into() };
        black_box(buffer.lookup_transform(target, &source, when).expect("it is there"));
    }
    (cpu_time() - begin) * 1e9 / LOOK_UPS as f64
}

#[expect(clippy::print_stdout, reason = "it is what a benchmark is for")]
fn main() {
    let buffer = Buffer::new();
    let set = measure(|message| message, |message| set_all(&buffer, &message));
    println!("{FRAMES} frames at {RATE_HZ} Hz, percent of a core:");
    println!("  into the buffer                {set:>6.2}");
    println!("  through a topic of the process {:>6.2}", through_nodes());
    println!("  decoded from CDR               {:>6.2}", from_cdr());
    println!("look-ups, nanoseconds:");
    for hops in [1, 5, 20] {
        let latest = look_up(&buffer, hops, true);
        let then = look_up(&buffer, hops, false);
        println!("  {hops:>2} transforms: latest {latest:>6.0}, interpolated {then:>6.0}");
    }
}
