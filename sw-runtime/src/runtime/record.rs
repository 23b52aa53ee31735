//! What a run was: its kernels as a ktrace, and when each started and ended.

use super::Ticket;
use super::schedule::{Event, EventKind, Schedule};
use crate::explain::{ExplainError, Explanation, History, Options, Span, TimeUnit, Timing, explain};
use crate::ktrace::{self, Gpu, Header, Run, Trace};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A run that was recorded.
///
#[doc = concat!("```\n", include_str!("../../examples/replay.rs"), "\n```")]
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its kernels in program order, with the addresses of this runtime, which are the same in each run of the same program.
    pub trace: Trace,
    /// When each started and ended.
    pub schedule: Schedule,
}

impl Recording {
    /// When each kernel really ran.
    fn timing(&self) -> Timing {
        let now = self.schedule.events.iter().map(|e| e.ns).max().unwrap_or(0);
        let mut spans = vec![Span { start: now, end: now }; self.trace.kernels().count()];
        for event in &self.schedule.events {
            if let Some(span) = usize::try_from(event.kernel).ok().and_then(|k| spans.get_mut(k)) {
                match event.kind {
                    EventKind::Start => span.start = event.ns,
                    EventKind::End => span.end = event.ns,
                }
            }
        }
        Timing { unit: TimeUnit::Ns, spans }
    }

    /// Why a launch waited: for which others, by which hazard, on which bytes, and the chain behind it, in the times that were recorded. Of a run
    /// that goes on, a kernel that has not started has no length, at the last of these times, and one that has not ended ends there.
    ///
    /// # Errors
    /// [`ExplainError`]: there is no such launch.
    pub fn explain(&self, ticket: Ticket) -> Result<Explanation, ExplainError> {
        let history = History::of_run(&self.trace, None)?;
        let timing = self.timing();
        let renamed = !self.schedule.versions.is_empty();
        explain(&history, ticket.0, &Options { timing: Some(&timing), renamed, ..Options::default() })
    }
}

#[derive(Debug)]
pub(crate) struct Recorder {
    since: Instant,
    events: Vec<ktrace::Event>,
    kernels: u64,
    schedule: Schedule,
    running: usize,
    /// The kernel that runs and has been alone since its start.
    alone: Option<Ticket>,
    /// What kernels need alone, in nanoseconds.
    durations: BTreeMap<u64, u64>,
}

impl Recorder {
    pub(crate) fn new(executor: String) -> Self {
        Self {
            since: Instant::now(),
            events: Vec::new(),
            kernels: 0,
            schedule: Schedule { executor, ..Schedule::default() },
            running: 0,
            alone: None,
            durations: BTreeMap::new(),
        }
    }

    /// What the application did.
    pub(crate) fn submitted(&mut self, mut event: ktrace::Event) {
        if let ktrace::Event::Kernel(kernel) = &mut event {
            kernel.index = self.kernels;
            self.kernels += 1;
        }
        self.events.push(event);
    }

    /// A kernel starts.
    pub(crate) fn started(&mut self, ticket: Ticket) {
        self.happened(EventKind::Start, ticket);
        self.alone = (self.running == 0).then_some(ticket);
        self.running += 1;
    }

    /// A kernel has ended, and ran so long, where its executor says that.
    pub(crate) fn ended(&mut self, ticket: Ticket, ran: Option<Duration>) {
        self.happened(EventKind::End, ticket);
        self.running = self.running.saturating_sub(1);
        // Beside others it may have waited for them, or they for it.
        if let (true, Some(ran)) = (self.alone == Some(ticket), ran) {
            self.durations.insert(ticket.0, u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// A write gets memory of its own.
    pub(crate) fn renamed(&mut self, write: u64) {
        self.schedule.versions.push(write);
    }

    fn happened(&mut self, kind: EventKind, ticket: Ticket) {
        let ns = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.schedule.events.push(Event { kind, kernel: ticket.0, ns });
    }

    pub(crate) fn recording(&self) -> Recording {
        let mut events = self.events.clone();
        for event in &mut events {
            if let ktrace::Event::Kernel(kernel) = event {
                kernel.dur_ns = self.durations.get(&kernel.index).copied();
            }
        }
        let header = Header {
            name: "recorded".into(),
            source: "windlass runtime".into(),
            producer: concat!("windlass ", env!("CARGO_PKG_VERSION")).into(),
            gpu: Gpu { name: self.schedule.executor.clone(), sms: None },
            params: serde_json::Value::Object(serde_json::Map::new()),
            kernels: self.kernels,
            span: None,
            notes: String::new(),
        };
        let trace =
            Trace { header, runs: vec![Run { number: 0, input: None, events }], warnings: Vec::new() };
        Recording { trace, schedule: self.schedule.clone() }
    }
}
