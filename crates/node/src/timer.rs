//! Timers of nodes: on the node's clock, which is ROS time, or on the steady clock.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rospin_engine::{ClockPoint, Failures, Instant, Overrun, Priority, Skips, Time};

use crate::callback::{Convert, Nothing};
use crate::sync::atomic::{AtomicU64, Ordering};

/// One firing of a timer, as its callback sees it. The callback of [`create_timer`](crate::Node::create_timer) takes a
/// `Tick`, whose due time is a [`Time`], that of [`create_wall_timer`](crate::Node::create_wall_timer) a
/// `Tick<Instant>`, and both may take nothing.
///
/// ```
/// use rospin::prelude::*;
/// use rospin::time::Instant;
///
/// # fn main() -> rospin::Result<()> {
/// let context = Context::new(ContextOptions::new());
/// let ros = Ros::in_process(&context);
/// let node = ros.create_node("late")?;
/// let (period, n, steady) = (Duration::from_millis(10), node.clone(), context.clock().clone());
/// let _timer = node.create_timer(period, move |tick: Tick| {
///     println!("{:?} late", n.now() - tick.due);
/// })?;
/// let _wall_timer = node.create_wall_timer(period, move |tick: Tick<Instant>| {
///     println!("{:?} late", steady.now() - tick.due);
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// The clocks do not mix:
///
/// ```compile_fail,E0277
/// use rospin::prelude::*;
/// use rospin::time::Instant;
///
/// # fn main() -> rospin::Result<()> {
/// # let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("late")?;
/// let n = node.clone();
/// let _timer = node.create_wall_timer(Duration::from_millis(10), move |tick: Tick<Instant>| {
///     println!("{:?} late", n.now() - tick.due); // error: cannot subtract `Instant` from `Time`
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tick<D = Time> {
    /// The due time of the timer, on its clock. The callback may start later.
    pub due: D,
    /// The number of due times after this one that will not be: they have passed before the callback starts, and the
    /// timer's [overrun policy](TimerOptions::overrun) skips them. It is 0 while the timer is in time.
    /// [`Timer::lost`](rospin_engine::Timer::lost) has the sum.
    pub skipped: u64,
}

/// Options of a timer. A plain [`Duration`] is its period.
///
/// The method that creates the timer chooses its clock: [`create_timer`](crate::Node::create_timer) or
/// [`create_wall_timer`](crate::Node::create_wall_timer). Options with a [first due time](Self::first_due) are for the
/// clock of that time only:
///
/// ```compile_fail,E0277
/// # use rospin::{Context, ContextOptions, Ros, TimerOptions};
/// # use std::time::Duration;
/// # fn main() -> rospin::Result<()> {
/// # let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("late")?;
/// let options = TimerOptions::periodic(Duration::from_secs(1)).first_due(node.now());
/// let _timer = node.create_wall_timer(options, || {})?; // error: `Time` is no point in time of the steady clock
/// # Ok(())
/// # }
/// ```
///
/// ```
/// use std::time::Duration;
/// use rospin::{Context, ContextOptions, Node, Priority, Ros, SpinOptions, Tick, TimerOptions};
/// use rospin::time::Overrun;
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("controller")?;
/// let options = TimerOptions::periodic(Duration::from_millis(10))
///     .name("control")
///     .priority(Priority(5))
///     .deadline(Duration::from_millis(5))
///     .overrun(Overrun::CatchUp(2))
///     .max_in_flight(1);
/// assert_eq!(options.given_name(), Some("control"));
/// let control = node.create_wall_timer(options, || println!("control"))?;
/// assert_eq!(control.period(), Some(Duration::from_millis(10)));
/// let once = TimerOptions::one_shot(Duration::ZERO).releases_group_at_await();
/// let _once = node.create_timer(once, async |tick: Tick| println!("due at {:?}", tick))?;
/// ros.executor().spin(SpinOptions::spin_all())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimerOptions<D = ()> {
    engine: rospin_engine::TimerOptions,
    first_due: PhantomData<D>,
}

impl TimerOptions {
    /// Returns the options of a timer that fires every `period`, for the first time one period after it is created.
    #[must_use]
    pub fn periodic(period: Duration) -> Self {
        Self { engine: rospin_engine::TimerOptions::periodic(period), first_due: PhantomData }
    }

    /// Returns the options of a timer that fires once, `delay` after it is created.
    #[must_use]
    pub fn one_shot(delay: Duration) -> Self {
        Self { engine: rospin_engine::TimerOptions::one_shot(delay), first_due: PhantomData }
    }

    /// Sets the first due time in place of the one that follows from the period or the delay: a [`Time`] for a timer on
    /// ROS time, an [`Instant`] for one on the steady clock.
    #[must_use]
    pub fn first_due<D: ClockPoint>(self, due: D) -> TimerOptions<D> {
        TimerOptions { engine: self.engine.first_due(due.to_reading()), first_due: PhantomData }
    }
}

impl<D> TimerOptions<D> {
    /// Returns the name that was given to the timer, if there is one.
    #[must_use]
    pub fn given_name(&self) -> Option<&str> {
        self.engine.given_name()
    }

    /// Sets the overrun policy: the treatment of due times that a late timer missed. The default skips them.
    #[must_use]
    pub fn overrun(self, overrun: Overrun) -> Self {
        self.with(|engine| engine.overrun(overrun))
    }

    /// Sets the name under which the timer appears in messages, traces, chains, loss counts and deployment files. The
    /// default consists of the names of the node and the group, and `timer`.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|engine| engine.name(name))
    }

    /// Sets the priority, see [`EntityOptions::priority`](rospin_engine::EntityOptions::priority).
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        self.with(|engine| engine.priority(priority))
    }

    /// Sets the deadline of the callback, counted from the due time, see
    /// [`EntityOptions::deadline`](rospin_engine::EntityOptions::deadline). The default is the period.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.with(|engine| engine.deadline(deadline))
    }

    /// Sets the maximum number of activations that run at once, see
    /// [`EntityOptions::max_in_flight`](rospin_engine::EntityOptions::max_in_flight).
    #[must_use]
    pub fn max_in_flight(self, count: u32) -> Self {
        self.with(|engine| engine.max_in_flight(count))
    }

    /// Lets other callbacks of the group run while this asynchronous one awaits, see
    /// [`EntityOptions::releases_group_at_await`](rospin_engine::EntityOptions::releases_group_at_await).
    #[must_use]
    pub fn releases_group_at_await(self) -> Self {
        self.with(rospin_engine::TimerOptions::releases_group_at_await)
    }

    fn with(self, set: impl FnOnce(rospin_engine::TimerOptions) -> rospin_engine::TimerOptions) -> Self {
        Self { engine: set(self.engine), first_due: PhantomData }
    }
}

impl<D: ClockPoint> TimerOptions<D> {
    /// Returns the engine's options of a timer on this clock.
    pub(crate) fn into_engine(self) -> rospin_engine::TimerOptions {
        self.engine.clock(D::KIND)
    }
}

impl From<TimerOptions> for TimerOptions<Time> {
    fn from(options: TimerOptions) -> Self {
        Self { engine: options.engine, first_due: PhantomData }
    }
}

impl From<TimerOptions> for TimerOptions<Instant> {
    fn from(options: TimerOptions) -> Self {
        Self { engine: options.engine, first_due: PhantomData }
    }
}

impl From<Duration> for TimerOptions {
    fn from(period: Duration) -> Self {
        Self::periodic(period)
    }
}

impl From<Duration> for TimerOptions<Time> {
    fn from(period: Duration) -> Self {
        TimerOptions::periodic(period).into()
    }
}

impl From<Duration> for TimerOptions<Instant> {
    fn from(period: Duration) -> Self {
        TimerOptions::periodic(period).into()
    }
}

/// Converter of the engine's ticks to those of a node's timer, which reports errors of the callback.
#[derive(Clone, Default)]
pub(crate) struct GivesTick(Arc<OfTimer>);

/// What is known of a timer once it is there.
#[derive(Default)]
struct OfTimer {
    timer: OnceLock<(Failures, Skips)>,
    /// The number of skipped due times that callbacks were told of.
    told: AtomicU64,
}

impl GivesTick {
    /// Tells it of the timer whose ticks it converts, which may run already.
    pub(crate) fn set(&self, failures: Failures, skips: Skips) {
        // Only the timer's creator sets this value.
        let _ = self.0.timer.set((failures, skips));
    }

    /// Returns the number of due times that were skipped and of which no callback was told yet.
    fn skipped(&self) -> u64 {
        let count = self.0.timer.get().map_or(0, |(_, skips)| skips.count());
        if count == self.0.told.load(Ordering::Relaxed) {
            // A timer that is in time, as most are, writes nothing.
            return 0;
        }
        count.saturating_sub(self.0.told.fetch_max(count, Ordering::Relaxed))
    }
}

impl<D: ClockPoint> Convert<rospin_engine::Tick, Tick<D>, Nothing> for GivesTick {
    type Kept = ();

    fn open(&self, tick: rospin_engine::Tick) -> (Tick<D>, ()) {
        (Tick { due: D::of_reading(tick.due), skipped: self.skipped() }, ())
    }

    fn close(&self, (): (), value: Result<(), String>) {
        if let Err(reason) = value {
            // Waits at most until the thread that has just created the timer says so.
            self.0.timer.wait().0.report(reason);
        }
    }
}
