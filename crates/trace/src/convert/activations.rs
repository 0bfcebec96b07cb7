//! MCAP with a channel for each callback, whose messages are its activations: for plots over time.

use std::fs::File;
use std::io;

use serde_json::json;

use crate::container::{Container, Schema};
use crate::model::Model;

const SCHEMA: &str = r#"{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "rospin.Activation",
  "description": "A run of a callback",
  "type": "object",
  "properties": {
    "release_ns": {"type": "integer"}, "waiting_ms": {"type": "number"}, "execution_ms": {"type": "number"},
    "response_ms": {"type": "number"}, "stalled_ms": {"type": "number"}, "is_late": {"type": "boolean"},
    "thread": {"type": "string"}
  }
}"#;

const LOSS_SCHEMA: &str = r#"{
  "type": "object",
  "title": "rospin.Loss",
  "properties": {"of": {"type": "string"}, "cause": {"type": "string"}, "count": {"type": "integer"}}
}"#;

/// Number of the channel of losses. The channels of callbacks have the numbers after it.
const LOSSES: u16 = 1;

pub(super) fn write(model: &Model, file: File) -> io::Result<()> {
    let mut container = Container::new(file)?;
    let lost = Schema { name: "rospin.Loss", encoding: "jsonschema", text: LOSS_SCHEMA };
    container.channel(LOSSES, "/losses", "json", &lost)?;
    let activation = Schema { name: "rospin.Activation", encoding: "jsonschema", text: SCHEMA };
    for number in 0..model.callbacks.len() {
        let topic = format!("/callbacks/{}", model.label(number).trim_start_matches('/'));
        container.channel(channel(number)?, &topic, "json", &activation)?;
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    for activation in &model.activations {
        let Some(end) = activation.end_ns else { continue };
        let Some(response) = activation.response_ns() else { continue };
        let process = &model.processes[model.callbacks[activation.callback].process];
        let thread = activation.segments.last().map(|segment| &model.threads[segment.thread].name);
        let message = json!({
            "release_ns": activation.release_ns,
            "waiting_ms": ms(activation.waiting_ns()),
            "execution_ms": ms(activation.execution_ns()),
            "response_ms": ms(response),
            "stalled_ms": activation.stalled_ns().map(ms),
            "is_late": activation.is_late(),
            "thread": thread,
        });
        let time = end.saturating_add_signed(process.system_offset_ns);
        container.message(channel(activation.callback)?, time, message.to_string().as_bytes())?;
    }
    for loss in &model.losses {
        let of = loss.callback.map_or_else(|| loss.topic.clone(), |callback| model.label(callback));
        let message = json!({ "of": of, "cause": loss.cause, "count": loss.count });
        let time = loss.at_ns.saturating_add_signed(model.processes[loss.process].system_offset_ns);
        container.message(LOSSES, time, message.to_string().as_bytes())?;
    }
    container.flush()
}

/// Returns the number of a callback's channel. Fails if there are more callbacks than channels.
fn channel(callback: usize) -> io::Result<u16> {
    let number = u16::try_from(callback).ok().and_then(|number| number.checked_add(LOSSES + 1));
    number.ok_or_else(|| io::Error::other("more than 65533 callbacks, which is more than MCAP has channels"))
}
