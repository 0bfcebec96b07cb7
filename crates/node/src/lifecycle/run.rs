//! Execution of transitions: runs the callbacks, changes the state, publishes the change.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::callbacks::{Fault, Lifecycle};
use super::error::TransitionError;
use super::handle::LifecycleHandle;
use super::machine::{self, Ask, Edge, End, State};

/// Runs the requested transition, and returns the node's state after it. Refuses a transition that is not possible in
/// the state before. Only callbacks of the node's group call it.
pub(super) fn transition<P: Lifecycle>(
    payload: &mut P,
    node: &LifecycleHandle<P>,
    ask: &Ask,
) -> Result<State, TransitionError> {
    let previous = node.state();
    let Some(edge) = machine::begin(previous, ask) else {
        return Err(refused(node.fully_qualified_name(), ask, previous));
    };
    node.enter(edge);
    let outcome = call(payload, node, previous);
    let (end, reason) = describe(outcome);
    let mut state = leave(node, end);
    if state == State::ErrorProcessing {
        let (end, no_help) = describe(call(payload, node, previous));
        state = leave(node, end);
        let reason = if end == End::Success { reason } else { format!("{reason}, and then: {no_help}") };
        let broke = TransitionError::Broke { node: node.fully_qualified_name(), transition: edge.label, reason, state };
        // A client on the network learns only that the transition failed, so the reason is logged here.
        log::error!(target: "rospin", "{broke}");
        return Err(broke);
    }
    match end {
        End::Success => Ok(state),
        _ => Err(TransitionError::Failed { node: node.fully_qualified_name(), transition: edge.label, reason, state }),
    }
}

/// Runs the callback of the node's transition state.
fn call<P: Lifecycle>(payload: &mut P, node: &LifecycleHandle<P>, previous: State) -> Result<(), Fault> {
    let callback = match node.state() {
        State::Configuring => P::on_configure,
        State::CleaningUp => P::on_cleanup,
        State::Activating => P::on_activate,
        State::Deactivating => P::on_deactivate,
        State::ShuttingDown => P::on_shutdown,
        _ => P::on_error,
    };
    // The payload stays as the panic left it, and `on_error` must repair it.
    let called = catch_unwind(AssertUnwindSafe(|| callback(payload, node, previous)));
    called.unwrap_or_else(|panic| Err(Fault::Error(format!("its callback panicked: {}", message(&*panic)))))
}

/// Leaves a transition state and returns the new state.
fn leave<P: Lifecycle>(node: &LifecycleHandle<P>, end: End) -> State {
    if let Some(edge) = machine::finish(node.state(), end) {
        node.enter(edge);
    }
    node.state()
}

/// Returns the result of a callback, and its reason, which is empty after a success.
fn describe(outcome: Result<(), Fault>) -> (End, String) {
    match outcome {
        Ok(()) => (End::Success, String::new()),
        Err(Fault::Failure(reason)) => (End::Failure, reason),
        Err(Fault::Error(reason)) => (End::Error, reason),
    }
}

fn refused(node: String, ask: &Ask, state: State) -> TransitionError {
    let ways: Vec<_> = machine::ways_from(state).map(label).collect();
    let allowed = if ways.is_empty() {
        "nothing leads out of that state; create the node anew".to_owned()
    } else {
        format!("ask for {}", ways.join(" or "))
    };
    TransitionError::Refused { node, asked: ask.to_string(), state, allowed }
}

fn label(edge: &Edge) -> String {
    format!("`{}`", edge.label)
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(a value that is not text)")
}
