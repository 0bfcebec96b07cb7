//! Sleeping in asynchronous callbacks, on any clock.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rospin_core::{ClockKind, Instant};

use crate::executor::ExecutorHandle;
use crate::group_core::{GroupOptions, TimerError};
use crate::options::TimerOptions;
use crate::reentrant::ReentrantGroup;
use crate::timer::Timer;

/// Resolves when its clock shows the time; to be awaited in callbacks and elsewhere.
///
/// It is a timer of the executor that it was asked of: while that does not spin, it does not resolve. Dropping it ends it.
///
/// # Errors
/// If the executor was dropped before.
#[must_use = "it sleeps only while it is awaited"]
pub struct Sleep {
    /// A group of its own, since the sleeping callback may hold its.
    group: ReentrantGroup,
    timer: Result<Timer, TimerError>,
    over: Arc<Mutex<Over>>,
}

#[derive(Default)]
struct Over {
    is_over: bool,
    waker: Option<Waker>,
}

impl ExecutorHandle {
    /// Sleeps until the clock of that kind shows `due`. On ROS time that is when it gets there, however it does.
    ///
    /// Allocates and may lock; never waits for a callback.
    pub fn sleep_until(&self, clock: ClockKind, due: Instant) -> Sleep {
        self.sleep_as(TimerOptions::one_shot(Duration::ZERO).first_due(due).clock(clock))
    }

    /// Sleeps for so long on the clock of that kind, and no longer should ROS time jump back.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin::{ClockKind, Context, ContextOptions, ExecutorOptions, Instant, SpinOptions, TimerOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let time = context.ros_time();
    /// time.set_active(true);
    /// let arm = executor.create_group("arm", "down");
    /// let handle = executor.handle();
    /// let _wave = arm.create_timer_async(TimerOptions::one_shot(Duration::ZERO), move |arm, _| {
    ///     let pause = handle.sleep(ClockKind::Ros, Duration::from_secs(2));
    ///     async move {
    ///         arm.with(|arm| *arm = "up");
    ///         if pause.await.is_ok() {
    ///             arm.with(|arm| *arm = "waving");
    ///         }
    ///     }
    /// })?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// time.set(Instant::from_millis(2_000));
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(arm.into_payload().unwrap(), "waving");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep(&self, clock: ClockKind, duration: Duration) -> Sleep {
        self.sleep_as(TimerOptions::one_shot(duration).clock(clock))
    }

    fn sleep_as(&self, options: TimerOptions) -> Sleep {
        let group = ReentrantGroup::new(self, GroupOptions::new("sleep"));
        let over = Arc::<Mutex<Over>>::default();
        let rings = Arc::clone(&over);
        let timer = group.create_timer(options.name("sleep"), move |_| {
            let waker = {
                let mut over = rings.lock().unwrap_or_else(PoisonError::into_inner);
                over.is_over = true;
                over.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Sleep { group, timer, over }
    }
}

impl Future for Sleep {
    type Output = Result<(), TimerError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(error) = &self.timer {
            return Poll::Ready(Err(error.clone()));
        }
        let waker = cx.waker().clone();
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if over.is_over {
            return Poll::Ready(Ok(()));
        }
        let former = over.waker.replace(waker);
        drop(over);
        drop(former);
        Poll::Pending
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("group", &self.group).field("timer", &self.timer).finish_non_exhaustive()
    }
}
