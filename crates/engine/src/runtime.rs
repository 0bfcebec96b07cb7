//! The Tokio context that callbacks run in. Executor threads poll the callbacks. Tokio drives its I/O, its timers and
//! spawned tasks, on a thread of its own. A model checker sees only its own threads, so there is no Tokio under shuttle.

#[cfg(all(feature = "tokio", not(rospin_shuttle)))]
pub(crate) use with_tokio::Runtime;
#[cfg(any(not(feature = "tokio"), rospin_shuttle))]
pub(crate) use without_tokio::Runtime;

#[cfg(all(feature = "tokio", not(rospin_shuttle)))]
mod with_tokio {
    use std::io;
    use std::pin::pin;
    use std::sync::OnceLock;
    use std::task::{Context, Poll, Waker};

    use tokio::runtime::{Builder, Handle};

    /// The user's Tokio runtime, or else one of rospin's own, which is started when it is first needed.
    #[derive(Debug, Default)]
    pub(crate) struct Runtime {
        users: Option<Handle>,
        own: OnceLock<Own>,
    }

    /// A runtime of rospin's own. Its drop shuts it down without waiting, since that may happen within another runtime,
    /// where waiting is not allowed.
    #[derive(Debug)]
    struct Own(Option<tokio::runtime::Runtime>);

    impl Drop for Own {
        fn drop(&mut self) {
            if let Some(runtime) = self.0.take() {
                runtime.shutdown_background();
            }
        }
    }

    impl Runtime {
        pub(crate) fn of_user(handle: Handle) -> Self {
            Self { users: Some(handle), own: OnceLock::new() }
        }

        /// Starts a runtime of rospin's own, unless the user gave one or it is running already.
        pub(crate) fn prepare(&self) -> io::Result<()> {
            if self.users.is_none() && self.own.get().is_none() {
                let runtime =
                    Builder::new_multi_thread().worker_threads(1).thread_name("rospin-tokio").enable_all().build()?;
                // Another executor may have started a runtime meanwhile. Then this one is dropped.
                let _ = self.own.set(Own(Some(runtime)));
            }
            Ok(())
        }

        /// Runs `f` in the context of the runtime, or in none if the user gave none and none was
        /// [prepared](Self::prepare).
        pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
            let own = || self.own.get().and_then(|own| own.0.as_ref()).map(|runtime| runtime.handle().clone());
            let handle = self.users.clone().or_else(own);
            let _entered = handle.as_ref().map(Handle::enter);
            // The caller may be a Tokio task. Its budget of operations would run out during the spin and never be
            // renewed.
            let mut f = Some(f);
            let whole_spin = std::future::poll_fn(|_| match f.take() {
                Some(f) => Poll::Ready(f()),
                None => Poll::Pending,
            });
            match pin!(tokio::task::unconstrained(whole_spin)).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => result,
                Poll::Pending => unreachable!("it is polled once, and ready then"),
            }
        }
    }
}

#[cfg(any(not(feature = "tokio"), rospin_shuttle))]
mod without_tokio {
    use std::io;

    /// The absence of Tokio: callbacks run in no particular context.
    #[derive(Debug, Default)]
    pub(crate) struct Runtime {}

    impl Runtime {
        pub(crate) fn prepare(&self) -> io::Result<()> {
            Ok(())
        }

        pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
            f()
        }
    }
}
