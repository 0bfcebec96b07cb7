//! Processes that are killed: the others go on, and nothing is left of their memory.

#![allow(clippy::print_stderr, reason = "a long run shows how far it is")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{OwnDomain, join};
use rospin_local::LocalOptions;
use rospin_msgs::sensor_msgs::msg::Image;
use rospin_node::{PublisherOptions, Qos, SubscriptionOptions};
use rospin_testkit::peers::{KilledChild, PATIENCE, context, executor, process_of, wait, wait_until};

/// The variable with the domain of this process, for the others.
const DOMAIN: &str = "ROSPIN_TEST_LOCAL_DOMAIN";
/// The variable with the number of processes that are killed.
const KILLS: &str = "ROSPIN_TEST_KILLS";

/// Returns the files of the local path, of all processes.
fn files() -> Vec<PathBuf> {
    fn all(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                all(&entry.path(), found);
            } else {
                found.push(entry.path());
            }
        }
    }
    let mut found = Vec::new();
    let user = rustix::process::getuid().as_raw();
    all(Path::new(&format!("/tmp/rospin-local-{user}")), &mut found);
    let shared = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.path());
    found.extend(
        shared.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rospin_"))),
    );
    found.sort();
    found
}

/// Returns the memory that the files take, in bytes.
fn memory(files: &[PathBuf]) -> u64 {
    use std::os::unix::fs::MetadataExt;
    files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|file| 512 * file.blocks()).sum()
}

/// Starts a process that publishes images, and says that it has heard some.
fn start(domain: u16) -> KilledChild {
    let mut command = process_of(module_path!(), "the_other_process");
    KilledChild(command.env(DOMAIN, domain.to_string()).stdout(Stdio::null()).spawn().unwrap())
}

#[test]
fn nothing_is_left_of_processes_that_were_killed() {
    let kills: usize = std::env::var(KILLS).map_or(30, |kills| kills.parse().unwrap());
    let domain = OwnDomain::new();
    let before = files();
    {
        let (context, _) = context();
        let executor = executor(&context, "main");
        let ros = join(domain.id, LocalOptions::new()).ros(&context);
        let node = ros.create_node("survivor").unwrap();
        let publisher = node.create_publisher::<Image>(PublisherOptions::new("there").qos(Qos::keep_last(10))).unwrap();
        // Number of images that the other process says it has heard, and the process.
        let (heard, count) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (hears, counts) = (Arc::clone(&heard), Arc::clone(&count));
        let group = executor.create_group("survivor", ());
        let options = SubscriptionOptions::new("here").qos(Qos::keep_last(10));
        let callback = move |image: Image| {
            assert!(image.data.iter().all(|byte| u32::from(*byte) == image.height % 251));
            counts.fetch_add(1, Ordering::Relaxed);
            if image.width > 2 {
                hears.store(image.step as usize, Ordering::Relaxed);
            }
        };
        let _subscription = node.on(&group).create_subscription(options, callback).unwrap();
        let mut most = 0;
        for kill in 0..kills {
            let mut other = start(domain.id);
            let mut number = 0;
            wait_until(&executor, "the other hears and is heard", || {
                number += 1;
                if number % 5 == 0 {
                    let mut bytes = publisher.borrow_loaned_bytes(1 << 20);
                    bytes.fill((number % 251) as u8);
                    publisher.publish(Image { height: number, data: bytes.into(), ..Image::default() }).unwrap();
                }
                heard.load(Ordering::Relaxed) == other.id() as usize
            });
            // At another moment of its work each time.
            std::thread::sleep(Duration::from_micros(137 * (kill as u64 % 29)));
            other.kill().unwrap();
            other.wait().unwrap();
            let now = memory(&files());
            most = most.max(now);
            if kill % 50 == 0 {
                eprintln!("killed {}: {} files, {} KiB", kill + 1, files().len(), now / 1024);
            }
        }
        assert!(count.load(Ordering::Relaxed) > kills);
        // Those of this process, and of the one that was killed last.
        assert!(most < 256 << 20, "{most} bytes");
    }
    let begin = Instant::now();
    let mut left = files();
    while left.len() > before.len() && begin.elapsed() < PATIENCE {
        // Whoever comes next cleans up.
        drop(join(domain.id, LocalOptions::new()));
        left = files();
    }
    left.retain(|file| !before.contains(file));
    assert!(left.is_empty(), "{left:?}");
}

/// The process that is killed; without a domain, nothing.
#[test]
fn the_other_process() {
    let Ok(domain) = std::env::var(DOMAIN) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let ros = join(domain.parse().unwrap(), LocalOptions::new()).ros(&context);
    let node = ros.create_node("other").unwrap();
    let publisher = node.create_publisher::<Image>(PublisherOptions::new("here").qos(Qos::keep_last(10))).unwrap();
    let heard = Arc::<AtomicUsize>::default();
    let hears = Arc::clone(&heard);
    let group = executor.create_group("other", Vec::new());
    let options = SubscriptionOptions::new("there").qos(Qos::keep_last(10));
    let callback = move |kept: &mut Vec<Image>, image: Image| {
        assert!(image.data.iter().all(|byte| u32::from(*byte) == image.height % 251));
        hears.fetch_add(1, Ordering::Relaxed);
        // It holds some when it is killed.
        kept.push(image);
        kept.truncate(3);
    };
    let _subscription = node.on(&group).create_subscription(options, callback).unwrap();
    wait(&executor, "a subscription", publisher.wait_for_subscription());
    let mut number = 0;
    wait_until(&executor, "it is killed", || {
        number += 1;
        let mut bytes = publisher.borrow_loaned_bytes(1 << 20);
        bytes.fill((number % 251) as u8);
        let width = heard.load(Ordering::Relaxed) as u32;
        let image = Image { height: number, width, step: std::process::id(), data: bytes.into(), ..Image::default() };
        publisher.publish(image).unwrap();
        false
    });
}
