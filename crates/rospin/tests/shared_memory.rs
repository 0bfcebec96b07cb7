//! Programs that are built with shared memory have it by `rospin::init` alone.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rospin::SpinOptions;
use rospin::msgs::sensor_msgs::msg::Image;
use rospin::prelude::*;

/// The environment variable that has [`program`] be one of the two programs.
const PROGRAM: &str = "ROSPIN_TEST_PROGRAM";

/// Length of an image in bytes.
const LENGTH: usize = 1 << 20;

/// Publishes an image in lent memory again and again.
fn camera(ros: &Ros) -> rospin::Result<()> {
    let node = ros.create_node("camera")?;
    let publisher = node.create_publisher::<Image>("image")?;
    assert!(publisher.can_loan_messages());
    let _timer = node.create_wall_timer(Duration::from_millis(20), move || {
        let mut pixels = publisher.borrow_loaned_bytes(LENGTH);
        pixels.fill(7);
        publisher.publish(Image { data: pixels.into(), ..Image::default() })
    })?;
    ros.spin()?;
    Ok(())
}

/// Prints where the first image is, and ends.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn viewer(ros: &Ros) -> rospin::Result<()> {
    let node = ros.create_node("viewer")?;
    let context = ros.context().clone();
    let _subscription = node.create_subscription("image", move |image: Image| {
        assert!(image.data.len() == LENGTH && image.data.iter().all(|byte| *byte == 7));
        println!("the image is {}", if is_shared(&image.data) { "shared" } else { "a copy" });
        context.halt_all();
    })?;
    // Without a camera it hears nothing.
    ros.executor().spin(SpinOptions::new().timeout(Duration::from_secs(60)))?;
    Ok(())
}

/// Returns true if the bytes lie in memory that processes share.
fn is_shared(bytes: &[u8]) -> bool {
    let address = bytes.as_ptr().addr();
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    maps.lines().any(|line| {
        let (range, rest) = line.split_once(' ').expect("a range of addresses");
        let (start, end) = range.split_once('-').expect("a range of addresses");
        let bound = |text| usize::from_str_radix(text, 16).expect("an address");
        (bound(start)..bound(end)).contains(&address) && rest.contains("/rospin_")
    })
}

#[test]
fn program() {
    let Ok(program) = std::env::var(PROGRAM) else { return };
    let ros = rospin::init().expect("DDS");
    let ended = if program == "camera" { camera(&ros) } else { viewer(&ros) };
    ended.expect("it ends well");
}

/// A program that is killed at the end of the test, if it has not ended.
struct Program(Child);

impl Program {
    fn start(name: &str, domain_id: u16) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "program", "--nocapture"]).env(PROGRAM, name).stdout(Stdio::piped());
        command.env("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp").env("ROS_DOMAIN_ID", domain_id.to_string());
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both only fail if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the number of a domain in which nobody is, and what keeps it from the other tests of this machine.
fn own_domain() -> (u16, TcpListener) {
    let first = u16::try_from(std::process::id() % 200).expect("a small number");
    for number in first..first + 200 {
        let id = 20 + number % 200;
        let Ok(reservation) = TcpListener::bind((Ipv4Addr::LOCALHOST, 21_000 + id)) else { continue };
        if UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7400 + 250 * id)).is_ok() {
            return (id, reservation);
        }
    }
    panic!("no domain without participants");
}

#[test]
fn an_image_of_another_process_is_read_where_it_was_written() {
    let (domain_id, _reservation) = own_domain();
    let _camera = Program::start("camera", domain_id);
    let mut viewer = Program::start("viewer", domain_id);
    let output = BufReader::new(viewer.0.stdout.take().expect("a pipe"));
    let mut told = output.lines().map_while(Result::ok).filter(|line| line.contains("the image is"));
    let first = told.next().expect("the viewer hears the camera");
    assert!(first.contains("the image is shared"), "{first}");
}
