//! Frames on their way to the device, directly or through an accelerator.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures::channel::oneshot;
use rospin_accelerator::{
    Accelerator, Backend, Client, ClientOptions, Completion, Ended, Instant, Launch, Listener, Segment,
};
use rospin_engine::Recorder;

use super::contender::Contender;
use super::device::Maker;
use super::workload::Pipeline;

/// Way of a contender's pipelines to the device.
pub(crate) struct Launcher<'a, M: Maker> {
    contender: Contender,
    device: Arc<M::Device>,
    maker: &'a M,
    /// The clients by pipeline; empty for contenders that launch directly.
    clients: Vec<Client<M::Device>>,
    /// Listener of contenders that launch directly. It is kept here, because the device has only a weak reference to
    /// it.
    _listener: Option<Arc<dyn Listener>>,
}

/// Listener that ignores all reports, for contenders that launch directly. The end of a frame is told by a function
/// that the device calls at the end of its last segment.
struct Nobody;

impl Listener for Nobody {
    fn ended(&self, _: Ended) {}
    fn alarm(&self, _: Instant) {}
    fn lost(&self, _: &str) {}
}

impl<'a, M: Maker> Launcher<'a, M> {
    /// Connects the pipelines to the device in the contender's way.
    pub(crate) fn new(contender: Contender, device: Arc<M::Device>, maker: &'a M, pipelines: &[Pipeline]) -> Self {
        let (mut clients, mut kept) = (Vec::new(), None);
        if let Some(options) = contender.accelerator() {
            let gpu = Accelerator::new(Arc::clone(&device), options);
            gpu.record(&Recorder::of_process(), "gpu");
            clients.extend(pipelines.iter().map(|pipeline| {
                let options = ClientOptions::new(&pipeline.name).priority(contender.priority(pipeline)).depth(10_000);
                gpu.create_client(options).expect("the depth is positive, and there is no budget")
            }));
        } else {
            let listener: Arc<dyn Listener> = Arc::new(Nobody);
            let weak: Weak<dyn Listener> = Arc::downgrade(&listener);
            device.connect(weak);
            kept = Some(listener);
        }
        Self { contender, device, maker, clients, _listener: kept }
    }

    pub(crate) const fn contender(&self) -> Contender {
        self.contender
    }

    /// Launches a frame of the pipeline, which has the index `number` among all pipelines. The future's result is the
    /// time of the frame's end on the device's clock; `None` if the frame failed.
    pub(crate) fn launch(&self, number: usize, pipeline: &Pipeline) -> Frame<M::Device> {
        if let Some(client) = self.clients.get(number) {
            let segments = (0..pipeline.segments)
                .map(|nth| Segment::new(self.maker.work(pipeline, number, nth)).bound(pipeline.lengths.longest));
            return client.request(segments.collect()).map_or(Frame::Failed, Frame::Request);
        }
        let mut end = None;
        for nth in 0..pipeline.segments {
            let mut work = self.maker.work(pipeline, number, nth);
            if nth + 1 == pipeline.segments {
                let (last, direct) = self.maker.direct(work, &self.device);
                work = last;
                end = Some(direct);
            }
            let (lane, priority) = (self.contender.lane(number, pipeline), self.contender.priority(pipeline));
            if self.device.submit(Launch { lane, ticket: 0, priority, work }).is_err() {
                return Frame::Failed;
            }
        }
        end.map_or(Frame::Failed, Frame::Direct)
    }
}

/// Future of the end of a frame that was launched directly: its time on the device's clock, or `None` if it failed.
pub(crate) type Direct = Pin<Box<dyn Future<Output = Option<Instant>> + Send>>;

/// The end of a frame as a device tells it that calls a function at the end of a segment.
pub(crate) struct EndsByEffect;

impl EndsByEffect {
    /// Returns the work with such a function, which `then` adds to it, and the future of its end.
    pub(crate) fn of<B: Backend, W>(device: &Arc<B>, then: impl FnOnce(Box<dyn FnOnce() + Send>) -> W) -> (W, Direct) {
        let (send, receive) = oneshot::channel();
        let device = Arc::downgrade(device);
        let work = then(Box::new(move || {
            // The receiver is gone if the run is over.
            let _ = device.upgrade().map(|device| send.send(device.now()));
        }));
        (work, Box::pin(async { receive.await.ok() }))
    }
}

impl<B: Backend> Frame<B> {
    /// Waits for the end, and returns its time; `None` if the frame failed. `spins` has the thread take its core
    /// meanwhile, where it would sleep otherwise.
    pub(crate) fn wait(self, spins: bool) -> Option<Instant> {
        match self {
            Self::Request(completion) if spins => completion.busy_wait().ok().map(|outcome| outcome.finished),
            frame => futures::executor::block_on(frame),
        }
    }
}

/// A frame on the device, as a future of the time of its end.
pub(crate) enum Frame<B: Backend> {
    /// A frame that was launched directly.
    Direct(Direct),
    /// A frame that is a request to the accelerator.
    Request(Completion<B>),
    /// A frame that could not be launched.
    Failed,
}

impl<B: Backend> Future for Frame<B> {
    type Output = Option<Instant>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Direct(end) => end.as_mut().poll(context),
            Self::Request(completion) => {
                Pin::new(completion).poll(context).map(|result| result.ok().map(|outcome| outcome.finished))
            }
            Self::Failed => Poll::Ready(None),
        }
    }
}
