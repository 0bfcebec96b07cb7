//! The urgent executor, with a timer and a subscription to the messages of the timer's callback; and the ordinary
//! threads that use its entities.

use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{
    CallbackGroup, Client, Context, ContextOptions, Executor, ExecutorOptions, Instant, Overrun, Publisher, Queue,
    ReentrantGroup, Service, SpinError, SpinOptions, Subscription, SubscriptionOptions, Timer, TimerOptions,
};
use rospin_measure::setup::Setup;
use rospin_measure::wake_up::{Grid, Lateness, now_ns};

use super::figures::Row;
use super::interference::{Case, Others, Turn, TurnError};

/// Number of missed due times that the timer makes up for: all of them, so that none is left out of the figures.
const CATCH_UP: u32 = 100_000;
/// Number of subscriptions of the topic besides the executor's. Nobody takes from them.
const QUEUES: usize = 8;
/// Time to the due time of one-shot timers that must not fire during the experiment.
const FAR: Duration = Duration::from_secs(3600);

/// Message with the time in nanoseconds at which the urgent executor published it, or 0 if an ordinary thread did.
struct Message {
    sent_ns: u64,
}

/// Record of the urgent executor's callbacks.
struct Record {
    lateness: Lateness,
    /// Times in nanoseconds that the timer's callback took to publish, and to do once each other operation that the
    /// ordinary threads repeat.
    own_ns: Vec<u64>,
    /// Times in nanoseconds from just before a publication to the start of the subscription's callback.
    message_ns: Vec<u64>,
}

/// Data that urgent and ordinary threads share.
struct Common {
    context: Context,
    publisher: Publisher<Message>,
    _queues: Vec<Queue<Message>>,
    /// Timer that is never due. Its resets are one of the operations.
    timer: Timer,
    /// Group on which entities are created and dropped.
    group: ReentrantGroup,
    client: Client<u64, u64>,
    _service: Service,
}

/// Runs the case, with the urgent executor on the calling thread, and returns its results.
pub(super) fn run(case: Case, setup: &Setup, turn: Turn) -> Result<Row, TurnError> {
    // The settings are applied before the grid of due times begins, because an ordinary thread may have to wait long
    // until it is set up.
    let _set_up = setup.timer.apply_for_now();
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("urgent").thread(setup.timer.clone()));
    let common = Arc::new(Common::new(&context, &executor)?);
    // The first spin starts Tokio's thread, an ordinary one, and may have to wait for it.
    executor.spin(SpinOptions::spin_all())?;
    let mut others = Others::start(&setup.busy, turn)?;
    for single in Case::SINGLE.into_iter().filter(|single| case.has(*single)) {
        let common = Arc::clone(&common);
        others.repeat(&setup.ordinary(), move || common.disturb(single, 0))?;
    }
    others.wait_until_at_work();
    let grid = Grid::soon(turn.period, turn.firings, Duration::ZERO);
    let room = || Vec::with_capacity(turn.firings as usize);
    let record = Record { lateness: Lateness::new(grid), own_ns: room(), message_ns: room() };
    let group = executor.create_group("urgent", record);
    let entities = listen(&group, &executor, &common, case, grid)?;
    match executor.spin(SpinOptions::new().timeout(grid.left())) {
        Ok(_) | Err(SpinError::Timeout) => {}
        Err(error) => return Err(error.into()),
    }
    let (operations, bursts) = others.stop()?;
    drop(entities);
    let Record { lateness, own_ns, message_ns } = group.into_payload().map_err(|_| TurnError::Group)?;
    Ok(Row::new(case, turn.firings, lateness.into_us(), &own_ns, &message_ns, operations, bursts))
}

/// Creates the urgent subscription and the urgent timer. The timer fires at the due times of `grid`, and halts the
/// executor after the last one. Both end when they are dropped.
fn listen(
    group: &CallbackGroup<Record>,
    executor: &Executor,
    common: &Arc<Common>,
    case: Case,
    grid: Grid,
) -> Result<(Timer, Subscription), TurnError> {
    let subscription = SubscriptionOptions::new("shared").keep_last(64);
    let subscription =
        group.create_local_subscription(subscription, |record: &mut Record, message: Arc<Message>| {
            if message.sent_ns > 0 && record.message_ns.len() < record.message_ns.capacity() {
                record.message_ns.push(now_ns() - message.sent_ns);
            }
        })?;
    let timer = TimerOptions::periodic(grid.period()).first_due(Instant::from_nanos(grid.first_ns));
    let (stop, common) = (executor.handle(), Arc::clone(common));
    let timer = group.create_timer(timer.overrun(Overrun::CatchUp(CATCH_UP)), move |record: &mut Record, tick| {
        if !record.lateness.start(tick.due.as_nanos()) {
            stop.halt();
        }
        let begun = now_ns();
        common.disturb(Case::Publish, begun);
        for single in Case::SINGLE.into_iter().filter(|single| *single != Case::Publish && case.has(*single)) {
            common.disturb(single, 0);
        }
        if record.own_ns.len() < record.own_ns.capacity() {
            record.own_ns.push(now_ns() - begun);
        }
    })?;
    Ok((timer, subscription))
}

impl Common {
    fn new(context: &Context, executor: &Executor) -> Result<Self, TurnError> {
        let queues = (0..QUEUES).map(|_| context.create_local_queue("shared")).collect::<Result<_, _>>()?;
        let group = executor.create_reentrant_group("shared");
        Ok(Self {
            context: context.clone(),
            publisher: context.create_local_publisher("shared")?,
            _queues: queues,
            timer: group.create_timer(TimerOptions::one_shot(FAR), |_| {})?,
            _service: group.create_local_service("shared", |request: u64| request)?,
            client: context.create_local_client("shared")?,
            group,
        })
    }

    /// Does the operation of the case `single` once. `sent_ns` is the time in the message, if it publishes. Cases that
    /// stand for no single operation do nothing.
    fn disturb(&self, single: Case, sent_ns: u64) {
        match single {
            Case::Publish => {
                self.publisher.publish(Message { sent_ns });
            }
            Case::Reset => self.timer.reset(),
            Case::Entities => {
                // This cannot fail: the topic has this type, and the group exists.
                let _ = self.group.create_timer(TimerOptions::one_shot(FAR), |_| {});
                let _ = self.context.create_local_queue::<Message>("shared");
                let _ = self.group.create_local_subscription("shared", |_: Arc<Message>| {});
            }
            Case::Service => drop(self.client.call(1)),
            Case::Nothing | Case::All | Case::StdMutex => {}
        }
    }
}
