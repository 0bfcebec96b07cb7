//! Random programs through the interface for C: entities, groups and notifiers come and go, are notified and cancelled,
//! from outside and from callbacks, while an executor spins. `ROSPIN_SEED` repeats one program, and
//! `ROSPIN_PROGRAMS` sets their number.
//!
//! What must hold: the data of each source are dropped exactly once, and nothing is called with them afterwards; calls
//! of `take` and of `next_due` do not overlap; callbacks of an exclusive group do not; and what is notified while
//! nothing is removed any more runs.

#![expect(clippy::print_stdout, reason = "it says which program fails")]

use std::env;
use std::ffi::{CString, c_void};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rospin_ffi::*;

/// The time after which a program fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(60);

/// Numbers that a seed decides (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Handle of the interface, which may go to other threads.
struct Handle<T>(*mut T);

// SAFETY: the header says so.
unsafe impl<T> Send for Handle<T> {}

/// State that a program shares with its callbacks.
struct World {
    executor: AtomicUsize,
    random: Mutex<Random>,
    things: Mutex<Things>,
    created: AtomicUsize,
    dropped: AtomicUsize,
    ran: AtomicUsize,
    /// True while callbacks add and remove.
    is_wild: AtomicBool,
    /// The number of callbacks that may do so now.
    acting: AtomicUsize,
}

#[derive(Default)]
struct Things {
    groups: Vec<(Handle<rospin_group>, Arc<Group>)>,
    entities: Vec<(Handle<rospin_entity>, Weak<Thing>)>,
    notifiers: Vec<Handle<rospin_notifier>>,
}

/// A group, as the program sees it.
struct Group {
    is_reentrant: bool,
    /// True while a callback of the group runs, if that excludes others.
    is_busy: AtomicBool,
    is_removed: AtomicBool,
}

/// The data of a source. Its address is what the interface gets, which owns one count of it.
struct Thing {
    world: Arc<World>,
    group: Arc<Group>,
    is_taking: AtomicBool,
    is_asking: AtomicBool,
    is_dropped: AtomicBool,
    items: AtomicUsize,
    due: AtomicI64,
    runs: AtomicU64,
    /// The other end of the descriptor that it watches.
    socket: Option<(UnixStream, UnixStream)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// `data` is a `Thing` that was not dropped yet.
unsafe fn thing<'a>(data: *mut c_void) -> &'a Thing {
    // SAFETY: the caller promises it.
    let thing = unsafe { &*data.cast::<Thing>() };
    assert!(!thing.is_dropped.load(Ordering::SeqCst), "it is called after its drop");
    thing
}

unsafe extern "C" fn take(data: *mut c_void, taken: *mut rospin_taken) -> i32 {
    // SAFETY: the interface promises it.
    let thing = unsafe { thing(data) };
    assert!(!thing.is_taking.swap(true, Ordering::SeqCst), "takes overlap");
    let left = thing.items.load(Ordering::SeqCst);
    if left > 0 {
        thing.items.fetch_sub(1, Ordering::SeqCst);
    }
    // SAFETY: the interface gives a place.
    unsafe { (*taken).item = ptr::without_provenance_mut(left) };
    thing.is_taking.store(false, Ordering::SeqCst);
    if left > 0 { ROSPIN_TAKE_MORE } else { ROSPIN_TAKE_EMPTY }
}

unsafe extern "C" fn run(data: *mut c_void, _item: *mut c_void) -> i32 {
    // SAFETY: the interface promises it.
    let thing = unsafe { thing(data) };
    let group = &thing.group;
    if !group.is_reentrant {
        assert!(!group.is_busy.swap(true, Ordering::SeqCst), "callbacks of an exclusive group overlap");
    }
    thing.due.store(ROSPIN_NEVER, Ordering::SeqCst);
    if let Some((_, ours)) = &thing.socket {
        use std::io::Read;
        let mut ours = ours;
        let _ = ours.read(&mut [0; 8]);
    }
    // What comes from now on is for another run.
    thing.runs.fetch_add(1, Ordering::SeqCst);
    thing.world.ran.fetch_add(1, Ordering::SeqCst);
    thing.world.acting.fetch_add(1, Ordering::SeqCst);
    if thing.world.is_wild.load(Ordering::SeqCst) {
        thing.world.act();
    }
    thing.world.acting.fetch_sub(1, Ordering::SeqCst);
    group.is_busy.store(false, Ordering::SeqCst);
    0
}

unsafe extern "C" fn next_due(data: *mut c_void) -> i64 {
    // SAFETY: the interface promises it.
    let thing = unsafe { thing(data) };
    assert!(!thing.is_asking.swap(true, Ordering::SeqCst), "questions overlap");
    let due = thing.due.load(Ordering::SeqCst);
    thing.is_asking.store(false, Ordering::SeqCst);
    due
}

unsafe extern "C" fn drop_thing(data: *mut c_void) {
    // SAFETY: it is the count that the interface got.
    let thing = unsafe { Arc::from_raw(data.cast::<Thing>()) };
    assert!(!thing.is_dropped.swap(true, Ordering::SeqCst), "it is dropped twice");
    thing.world.dropped.fetch_add(1, Ordering::SeqCst);
}

impl World {
    fn random(&self, limit: usize) -> usize {
        lock(&self.random).below(limit)
    }

    fn executor(&self) -> *const rospin_executor {
        ptr::with_exposed_provenance(self.executor.load(Ordering::SeqCst))
    }

    /// Does something at random.
    fn act(self: &Arc<Self>) {
        match self.random(12) {
            0 => self.add_group(),
            1 | 2 => self.add_entity(),
            3 => self.remove_entity(),
            4 => self.remove_group(),
            5 => self.add_notifier(),
            // SAFETY: the executor lives as long as the program.
            6 if self.random(4) == 0 => unsafe { rospin_executor_check(self.executor()) },
            _ => self.notify(),
        }
    }

    fn add_group(&self) {
        let is_reentrant = self.random(3) == 0;
        let options = rospin_group_options {
            struct_size: size_of::<rospin_group_options>(),
            name: c"group".as_ptr(),
            node: ptr::null(),
            is_reentrant,
        };
        let mut group = ptr::null_mut();
        // SAFETY: all pointers are valid.
        assert_eq!(unsafe { rospin_group_create(self.executor(), &options, &mut group) }, ROSPIN_OK);
        let known = Group { is_reentrant, is_busy: AtomicBool::new(false), is_removed: AtomicBool::new(false) };
        lock(&self.things).groups.push((Handle(group), Arc::new(known)));
    }

    fn add_entity(self: &Arc<Self>) {
        let (is_timer, has_socket, has_take) = (self.random(3) == 0, self.random(4) == 0, self.random(2) == 0);
        let has_socket = has_socket && !is_timer;
        let priority = self.random(3) as u32;
        let mut things = lock(&self.things);
        if things.groups.is_empty() {
            return;
        }
        let number = self.random(things.groups.len());
        let (group, known) = &things.groups[number];
        let thing = Arc::new(Thing {
            world: Arc::clone(self),
            group: Arc::clone(known),
            is_taking: AtomicBool::new(false),
            is_asking: AtomicBool::new(false),
            is_dropped: AtomicBool::new(false),
            items: AtomicUsize::new(0),
            due: AtomicI64::new(ROSPIN_NEVER),
            runs: AtomicU64::new(0),
            socket: has_socket.then(|| {
                let (theirs, ours) = UnixStream::pair().expect("sockets");
                ours.set_nonblocking(true).expect("a socket");
                (theirs, ours)
            }),
        });
        let weak = Arc::downgrade(&thing);
        let fd = thing.socket.as_ref().map(|(_, ours)| ours.as_raw_fd());
        let source = rospin_source {
            struct_size: size_of::<rospin_source>(),
            data: Arc::into_raw(thing).cast_mut().cast(),
            take: if has_take && !is_timer && !has_socket { Some(take) } else { None },
            run: Some(run),
            next_due: if is_timer { Some(next_due) } else { None },
            drop: Some(drop_thing),
        };
        let name = CString::new(format!("entity {}", self.created.fetch_add(1, Ordering::SeqCst))).expect("a name");
        let options = rospin_entity_options {
            struct_size: size_of::<rospin_entity_options>(),
            name: name.as_ptr(),
            kind: ROSPIN_KIND_WAITABLE,
            has_priority: true,
            priority,
            deadline_ns: 0,
            depth: 0,
            max_in_flight: 0,
            period_ns: if self.random(2) == 0 { 1_000_000 } else { 0 },
        };
        let mut entity = ptr::null_mut();
        // SAFETY: all pointers are valid.
        let status = unsafe {
            match fd {
                Some(fd) => rospin_fd_create(group.0, &options, fd, ROSPIN_FD_READABLE, &source, &mut entity),
                None if is_timer => rospin_timer_create(group.0, &options, &source, &mut entity),
                None => rospin_entity_create(group.0, &options, &source, &mut entity),
            }
        };
        if status == ROSPIN_OK {
            things.entities.push((Handle(entity), weak));
        } else {
            assert_eq!(status, ROSPIN_ERROR_GONE);
        }
    }

    /// Removes an entity. Its drop may come at once, so nothing is locked.
    fn remove_entity(&self) {
        let mut things = lock(&self.things);
        if things.entities.is_empty() {
            return;
        }
        let number = self.random(things.entities.len());
        let (entity, _) = things.entities.swap_remove(number);
        drop(things);
        // SAFETY: the handle is in no list any more.
        unsafe { rospin_entity_destroy(entity.0) };
    }

    fn remove_group(&self) {
        let removes = self.random(2) == 0;
        let mut things = lock(&self.things);
        if things.groups.is_empty() {
            return;
        }
        let number = self.random(things.groups.len());
        let (group, known) = things.groups.swap_remove(number);
        drop(things);
        // SAFETY: the handle is in no list any more.
        unsafe {
            if removes {
                known.is_removed.store(true, Ordering::SeqCst);
                rospin_group_remove(group.0);
            }
            rospin_group_destroy(group.0);
        }
    }

    fn add_notifier(&self) {
        let mut things = lock(&self.things);
        if things.entities.is_empty() {
            return;
        }
        let number = self.random(things.entities.len());
        let mut notifier = ptr::null_mut();
        // SAFETY: the entity is in the list, so it is not destroyed.
        if unsafe { rospin_notifier_create(things.entities[number].0.0, &mut notifier) } == ROSPIN_OK {
            things.notifiers.push(Handle(notifier));
        }
        if things.notifiers.len() > 8 {
            let Handle(notifier) = things.notifiers.swap_remove(0);
            // SAFETY: the handle is in no list any more.
            unsafe { rospin_notifier_destroy(notifier) };
        }
    }

    /// Notifies an entity: raises it, makes its timer due, or writes to its socket.
    fn notify(&self) {
        let things = lock(&self.things);
        if let Some(Handle(notifier)) = things.notifiers.first() {
            // SAFETY: the notifier is in the list, so it is not destroyed.
            unsafe { rospin_notifier_notify(*notifier) };
        }
        if things.entities.is_empty() {
            return;
        }
        let number = self.random(things.entities.len());
        let (entity, thing) = &things.entities[number];
        let Some(thing) = thing.upgrade() else { return };
        thing.wake(entity.0, self.random(3) == 0);
    }
}

impl Thing {
    fn wake(&self, entity: *const rospin_entity, cancels: bool) {
        use std::io::Write;
        self.items.fetch_add(1, Ordering::SeqCst);
        self.due.store(if cancels { ROSPIN_NEVER } else { 0 }, Ordering::SeqCst);
        if let Some((theirs, _)) = &self.socket {
            let mut theirs = theirs;
            let _ = theirs.write(&[1]);
        }
        // SAFETY: the caller has the list of entities, so it is not destroyed.
        unsafe {
            rospin_entity_notify(entity);
            let _ = rospin_timer_update(entity);
        }
    }
}

fn spin_until_halted(executor: &Handle<rospin_executor>) {
    // SAFETY: the executor lives as long as the program.
    assert_eq!(unsafe { rospin_executor_spin(executor.0, ptr::null()) }, ROSPIN_HALTED);
}

struct HaltOnDrop(*const rospin_executor);

impl Drop for HaltOnDrop {
    fn drop(&mut self) {
        // SAFETY: the executor lives as long as the program.
        unsafe { rospin_executor_halt(self.0) };
    }
}

/// Waits for what must come.
fn wait_until(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LIMIT, "it should have happened by now");
        thread::yield_now();
    }
}

/// Runs the program of a seed. Returns how many callbacks ran.
fn program(seed: u64) -> usize {
    let mut random = Random(seed);
    let threads = 1 + random.below(2) as u16;
    let steps = 20 + random.below(60);
    let mut context = ptr::null_mut();
    let mut executor = ptr::null_mut();
    let options = rospin_executor_options {
        struct_size: size_of::<rospin_executor_options>(),
        name: c"main".as_ptr(),
        policy: ptr::null(),
        threads,
        busy_poll_ns: 0,
    };
    // SAFETY: all pointers are valid.
    unsafe {
        assert_eq!(rospin_context_create(ptr::null(), &mut context), ROSPIN_OK);
        assert_eq!(rospin_executor_create(context, &options, &mut executor), ROSPIN_OK);
        rospin_context_destroy(context);
    }
    let world = Arc::new(World {
        executor: AtomicUsize::new(executor.expose_provenance()),
        random: Mutex::new(random),
        things: Mutex::default(),
        created: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
        ran: AtomicUsize::new(0),
        is_wild: AtomicBool::new(true),
        acting: AtomicUsize::new(0),
    });
    let spun = Handle(executor);
    thread::scope(|scope| {
        // A program that fails ends, too.
        let halt = HaltOnDrop(executor);
        let spinning = scope.spawn(move || spin_until_halted(&spun));
        let beside = Arc::clone(&world);
        let other = scope.spawn(move || (0..steps).for_each(|_| beside.act()));
        (0..steps).for_each(|_| world.act());
        other.join().expect("the other thread");
        world.is_wild.store(false, Ordering::SeqCst);
        wait_until(|| world.acting.load(Ordering::SeqCst) == 0);
        everything_runs_once_more(&world);
        drop(halt);
        spinning.join().expect("the spin");
    });
    clean_up(&world, executor, seed.is_multiple_of(2));
    assert_eq!(world.dropped.load(Ordering::SeqCst), world.created.load(Ordering::SeqCst), "dropped, and created");
    world.ran.load(Ordering::SeqCst)
}

/// Wakes all that is there, and waits until it has run, unless its group was removed.
fn everything_runs_once_more(world: &Arc<World>) {
    let things = lock(&world.things);
    let mut woken = Vec::new();
    for (entity, thing) in &things.entities {
        let Some(thing) = thing.upgrade() else { continue };
        let before = thing.runs.load(Ordering::SeqCst);
        thing.wake(entity.0, false);
        woken.push((thing, before));
    }
    drop(things);
    for (thing, before) in woken {
        let is_over = || thing.is_dropped.load(Ordering::SeqCst) || thing.group.is_removed.load(Ordering::SeqCst);
        wait_until(|| thing.runs.load(Ordering::SeqCst) != before || is_over());
    }
}

/// Destroys all handles, in one of two orders.
fn clean_up(world: &Arc<World>, executor: *mut rospin_executor, executor_first: bool) {
    let things = mem::take(&mut *lock(&world.things));
    // SAFETY: these are the last uses of the handles.
    unsafe {
        if executor_first {
            rospin_executor_destroy(executor);
        }
        for (group, ..) in things.groups {
            rospin_group_destroy(group.0);
        }
        for (entity, _) in things.entities {
            rospin_entity_destroy(entity.0);
        }
        for notifier in things.notifiers {
            rospin_notifier_destroy(notifier.0);
        }
        if !executor_first {
            rospin_executor_destroy(executor);
        }
    }
}

#[test]
fn random_programs_drop_everything_once_and_lose_nothing() {
    let number = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("ROSPIN_SEED") {
        program(seed);
        return;
    }
    let programs = number("ROSPIN_PROGRAMS").unwrap_or(200);
    let mut ran = 0;
    for seed in 0..programs {
        println!("ROSPIN_SEED={seed}");
        ran += program(seed);
    }
    println!("{ran} callbacks ran");
    // Each program runs what is left once more, and how much runs before that depends on the machine.
    assert!(ran as u64 > 2 * programs, "only {ran} callbacks ran: the programs have become too tame");
}
