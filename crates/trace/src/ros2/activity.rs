//! The runs of callbacks on each thread, with their times, the messages that they took, and those that they published.

use std::collections::HashMap;

use rospin_core::EntityKind;

use super::line::Line;
use super::objects::{Address, Objects};

/// A thread of a process.
pub(super) struct Thread {
    pub(super) process: usize,
    pub(super) kernel_id: u64,
    pub(super) name: String,
    /// True if it waited for work as the executors with wait sets do.
    pub(super) has_wait_set: bool,
    /// The run that its executor has chosen and not begun: the start, and the processor time.
    chosen: Option<(u64, u64)>,
    takes: Vec<Take>,
    /// The runs that go on, the innermost last.
    running: Vec<usize>,
    /// The end of the last run.
    idle_since: Option<u64>,
    /// The last run, if nothing has begun since, and the place of its end among the events.
    ended: Option<(usize, usize)>,
    /// The time of the last event, and the processor time.
    last: (u64, u64),
    /// The place of the last publication among the events, until its middleware has told the time.
    sent: Option<usize>,
}

/// A message or request that was taken, and whose callback has not started.
struct Take {
    at: u64,
    entity: Option<usize>,
    /// The time at which the message or request was sent.
    sent: u64,
    input: Input,
}

/// The message, request or due time that released a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Input {
    Nothing,
    /// A message through a middleware with the time at which it was sent.
    Message(u64),
    /// The message with a number in a buffer.
    Buffered(usize, u64),
}

/// A run of a callback.
pub(super) struct Run {
    pub(super) entity: usize,
    pub(super) thread: usize,
    pub(super) start: u64,
    pub(super) release: u64,
    /// Processor times of the thread at start and end; 0 if they were not recorded.
    pub(super) cpu: [u64; 2],
    pub(super) end: Option<u64>,
    pub(super) input: Input,
}

/// An event of a thread, in the order of the thread's.
pub(super) struct Happened {
    pub(super) at: u64,
    pub(super) thread: usize,
    pub(super) what: What,
}

pub(super) enum What {
    Started(usize),
    Ended(usize),
    /// The publisher sent a message at a time that subscribers get with it; at the time of the event if that is not
    /// known.
    Sent(usize, u64),
    /// A message was appended to a buffer, and perhaps displaced the oldest one.
    Buffered(usize, u64, bool),
}

/// Everything that happened.
#[derive(Default)]
pub(super) struct Activity {
    pub(super) threads: Vec<Thread>,
    numbers: HashMap<(usize, u64), usize>,
    pub(super) runs: Vec<Run>,
    pub(super) happened: Vec<Happened>,
    /// Times at which requests and responses were sent, by the client's id and their number.
    requests: HashMap<([u8; 16], u64), u64>,
    responses: HashMap<([u8; 16], u64), u64>,
    /// The number of messages that callbacks took for themselves.
    pub(super) own_takes: u64,
    /// The time of the first event.
    begin: Option<u64>,
}

impl Activity {
    /// Returns the thread of the process with that number in the kernel.
    fn thread(&mut self, process: usize, number: u64, line: &Line<'_>) -> usize {
        let threads = &mut self.threads;
        *self.numbers.entry((process, number)).or_insert_with(|| {
            threads.push(Thread {
                process,
                kernel_id: number,
                name: line.text("procname").unwrap_or_default().to_owned(),
                has_wait_set: false,
                chosen: None,
                takes: Vec::new(),
                running: Vec::new(),
                idle_since: None,
                ended: None,
                last: (line.at, 0),
                sent: None,
            });
            threads.len() - 1
        })
    }

    /// Notes what happened on the thread with the number `thread`.
    pub(super) fn note(&mut self, objects: &mut Objects, process: usize, thread: u64, line: &Line<'_>) {
        self.begin.get_or_insert(line.at);
        let thread = self.thread(process, thread, line);
        let number = |key| line.number(key).unwrap_or_default();
        match line.name {
            "callback_start" => {
                let entity = objects.of_callback(process, number("callback"));
                let (at, cpu) = self.threads[thread].last;
                self.end_client(objects, thread, at, cpu);
                self.start(objects, thread, entity, line);
            }
            "callback_end" => {
                let entity = objects.of_callback(process, number("callback"));
                self.end(thread, |run| run.entity == entity, line.at, cpu(line));
            }
            "rclcpp_executor_execute" => {
                self.next(objects, thread, line);
                self.threads[thread].chosen = Some((line.at, cpu(line)));
            }
            "rclcpp_executor_get_next_ready" | "rclcpp_executor_wait_for_work" => {
                self.threads[thread].has_wait_set = true;
                self.next(objects, thread, line);
            }
            "rmw_take" if number("taken") != 0 => {
                let (at, cpu) = self.threads[thread].last;
                self.end_client(objects, thread, at, cpu);
                let entity = objects.of_rmw(process, number("rmw_subscription_handle"));
                let sent = number("source_timestamp");
                self.take(thread, Take { at: line.at, entity, sent, input: Input::Message(sent) });
            }
            "rmw_take_request" if number("taken") != 0 => {
                let (at, cpu) = self.threads[thread].last;
                self.end_client(objects, thread, at, cpu);
                let key = (line.bytes("client_gid").unwrap_or_default(), number("sequence_number"));
                let sent = self.requests.remove(&key).unwrap_or(0);
                let entity = objects.of_rmw(process, number("rmw_service_handle"));
                self.take(thread, Take { at: line.at, entity, sent, input: Input::Nothing });
            }
            "rmw_take_response" if number("taken") != 0 => self.respond(objects, process, thread, line),
            "rmw_send_request" => {
                if let Some(id) = objects.client_id(process, number("rmw_client_handle")) {
                    self.requests.insert((id, number("sequence_number")), line.at);
                }
            }
            "rmw_send_response" => {
                let key = (line.bytes("client_gid").unwrap_or_default(), number("sequence_number"));
                self.responses.insert(key, line.at);
                self.answer(objects, process, thread, line);
            }
            "rcl_publish" => {
                if let Some(publisher) = objects.publisher(process, number("publisher_handle")) {
                    self.happened.push(Happened { at: line.at, thread, what: What::Sent(publisher, line.at) });
                    self.threads[thread].sent = Some(self.happened.len() - 1);
                }
            }
            "rmw_publish" => self.sent(objects, process, thread, line),
            "rclcpp_ring_buffer_enqueue" => {
                let Some(buffer) = objects.buffer(process, number("buffer")) else { return };
                let of = &mut objects.buffers[buffer];
                let displaces = number("overwritten") != 0;
                if displaces {
                    of.messages.pop_front();
                }
                let ticket = of.next;
                of.messages.push_back((ticket, line.at));
                of.next += 1;
                let what = What::Buffered(buffer, ticket, displaces);
                self.happened.push(Happened { at: line.at, thread, what });
            }
            "rclcpp_ring_buffer_dequeue" => {
                let Some(buffer) = objects.buffer(process, number("buffer")) else { return };
                let entity = objects.reader(buffer);
                if let Some((ticket, sent)) = objects.buffers[buffer].messages.pop_front() {
                    self.take(thread, Take { at: line.at, entity, sent, input: Input::Buffered(buffer, ticket) });
                }
            }
            "rclcpp_ring_buffer_clear" => {
                if let Some(buffer) = objects.buffer(process, number("buffer")) {
                    objects.buffers[buffer].messages.clear();
                }
            }
            _ => {}
        }
        self.threads[thread].last = (line.at, cpu(line));
    }

    /// Notes that the executor of the thread goes on: what it had chosen has ended.
    fn next(&mut self, objects: &Objects, thread: usize, line: &Line<'_>) {
        let of = &mut self.threads[thread];
        (of.chosen, of.sent, of.ended) = (None, None, None);
        of.takes.clear();
        self.end_client(objects, thread, line.at, cpu(line));
    }

    /// Ends the callback of a client, if the thread runs one, at a time and processor time: there is no event for its
    /// end.
    fn end_client(&mut self, objects: &Objects, thread: usize, at: u64, cpu: u64) {
        self.end(thread, |run| objects.entities[run.entity].kind == EntityKind::Client, at, cpu);
    }

    fn take(&mut self, thread: usize, take: Take) {
        let of = &mut self.threads[thread];
        // A callback that takes messages of other topics itself is not released by them.
        if of.chosen.is_none() && !of.running.is_empty() {
            self.own_takes += 1;
        } else {
            of.takes.push(take);
        }
    }

    fn start(&mut self, objects: &mut Objects, thread: usize, entity: usize, line: &Line<'_>) {
        let of = &mut self.threads[thread];
        // Earlier ones were dropped, such as messages of the own process that also came through its buffer.
        let take = of.takes.drain(..).rfind(|take| take.entity == Some(entity));
        // Choosing, taking and decoding are part of the run.
        let chosen = of.chosen.take();
        let taken_at = take.as_ref().map_or(line.at, |take| take.at);
        let (start, cpu_at_start) = chosen.unwrap_or((taken_at, cpu(line)));
        let idle_since = of.idle_since.filter(|_| of.running.is_empty());
        let begin = self.begin.unwrap_or_default();
        let release = match &take {
            // The time of another machine, or none.
            Some(take) if take.sent < begin => start,
            Some(take) => take.sent.min(start),
            None if objects.entities[entity].kind == EntityKind::Timer => due(objects, entity, start, idle_since),
            None => start,
        };
        objects.entities[entity].has_run = true;
        let input = take.map_or(Input::Nothing, |take| take.input);
        let cpu = [cpu_at_start, 0];
        self.runs.push(Run { entity, thread, start, release, cpu, end: None, input });
        let run = self.runs.len() - 1;
        self.threads[thread].running.push(run);
        self.threads[thread].ended = None;
        self.happened.push(Happened { at: start, thread, what: What::Started(run) });
    }

    /// Ends the innermost run for which `is_it` is true, at a time and processor time. Those within it, whose ends are
    /// missing, stay without.
    fn end(&mut self, thread: usize, is_it: impl Fn(&Run) -> bool, at: u64, cpu: u64) {
        let of = &mut self.threads[thread];
        let Some(place) = of.running.iter().rposition(|run| is_it(&self.runs[*run])) else { return };
        let run = of.running[place];
        of.running.truncate(place);
        (of.idle_since, of.sent) = (Some(at), None);
        let ended = &mut self.runs[run];
        (ended.end, ended.cpu[1]) = (Some(at), cpu);
        of.ended = Some((run, self.happened.len()));
        self.happened.push(Happened { at, thread, what: What::Ended(run) });
    }

    /// Notes that a service sends a response: the run that has just ended made it, and lasts until it is sent.
    fn answer(&mut self, objects: &Objects, process: usize, thread: usize, line: &Line<'_>) {
        let handle = line.number("rmw_service_handle").unwrap_or_default();
        let Some((run, place)) = self.threads[thread].ended else { return };
        let of = &mut self.runs[run];
        if objects.of_rmw(process, handle) == Some(of.entity) {
            (of.end, of.cpu[1]) = (Some(line.at), cpu(line));
            self.happened[place].at = line.at;
            self.threads[thread].idle_since = Some(line.at);
        }
    }

    /// Notes that a client took a response: its callback runs now. rclcpp has no event for that.
    fn respond(&mut self, objects: &mut Objects, process: usize, thread: usize, line: &Line<'_>) {
        let handle: Address = line.number("rmw_client_handle").unwrap_or_default();
        let Some(entity) = objects.of_rmw(process, handle) else { return };
        let id = objects.client_id(process, handle).unwrap_or_default();
        let key = (id, line.number("sequence_number").unwrap_or_default());
        let sent = self.responses.remove(&key).unwrap_or(0);
        let (at, cpu) = self.threads[thread].last;
        self.end_client(objects, thread, at, cpu);
        self.threads[thread].takes.push(Take { at: line.at, entity: Some(entity), sent, input: Input::Nothing });
        self.start(objects, thread, entity, line);
    }

    /// Notes the time at which the middleware sent the last publication of the thread.
    fn sent(&mut self, objects: &mut Objects, process: usize, thread: usize, line: &Line<'_>) {
        let handle = line.number("rmw_publisher_handle").unwrap_or_default();
        let Some(time) = line.number("timestamp").filter(|time| *time > 0) else { return };
        let Some(of_rmw) = objects.rmw_publisher(process, handle) else { return };
        let Some(place) = self.threads[thread].sent.take() else { return };
        if let What::Sent(publisher, number) = &mut self.happened[place].what
            && *publisher == of_rmw
        {
            *number = time;
            objects.publishers[of_rmw].has_times = true;
        }
    }
}

/// Returns the processor time of the thread, which the context `perf:thread:task-clock` has; 0 without it.
fn cpu(line: &Line<'_>) -> u64 {
    line.number("perf_thread_task_clock").or_else(|| line.number("perf_thread_cpu_clock")).unwrap_or(0)
}

/// Returns the due time of a timer that runs from `start`, and sets the next one as rcl does: the next multiple of the
/// period that is not over. `idle_since` is the time since which its thread had nothing to do; `None` if it ran another
/// callback, or nothing yet.
fn due(objects: &mut Objects, entity: usize, start: u64, idle_since: Option<u64>) -> u64 {
    let of = &mut objects.entities[entity];
    let period = of.period_ns.unwrap_or(0);
    let late = start.saturating_sub(of.due);
    let was_idle = idle_since.is_some_and(|since| start.saturating_sub(since) > period);
    let release = if of.due > start || period == 0 || of.has_run && late > period && was_idle {
        // It was restarted meanwhile, since its thread would have run it in time.
        start
    } else if !of.has_run {
        // Nobody may have spun yet when it was due for the first time.
        start - late % period
    } else {
        of.due
    };
    let next = release.saturating_add(period);
    let missed = start.saturating_sub(next);
    let skipped = if missed == 0 { 0 } else { missed.div_ceil(period.max(1)) };
    of.due = next.saturating_add(skipped.saturating_mul(period));
    release
}
