//! Which kernel started and ended when: what a run has recorded, and what another follows.

use super::error::Error;
use crate::ktrace::{MAX_LINE_BYTES, Next, read_line};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};

/// The only version of the format so far, the `schedule` key of the first line.
pub const VERSION: u64 = 1;

/// Something that happened to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It was given to the executor.
    Start,
    /// It retired: kernels that waited for it may start.
    End,
}

/// What happened to which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// Its number in program order, from 0.
    pub kernel: u64,
    /// Nanoseconds since the run began.
    pub ns: u64,
}

/// The starts and ends of a run, in the order in which they happened.
///
/// As a file: JSON lines; the first is `{"schedule":1,"executor":NAME}`, each other one an event such as
/// `{"e":"start","k":0,"ns":1250}`, or a version, `{"e":"version","w":3}`. No line is longer than [`MAX_LINE_BYTES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// What the run was recorded on.
    pub executor: String,
    /// In order.
    pub events: Vec<Event>,
    /// The writes that got memory of their own ([`Builder::rename`](super::Builder::rename)), which depends on what was in flight. Counted
    /// from 0 in program order are what kernels declare as written, and what the application writes; ascending.
    pub versions: Vec<u64>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "lowercase")]
enum Line {
    Start { k: u64, ns: u64 },
    End { k: u64, ns: u64 },
    Version { w: u64 },
}

#[derive(Serialize, Deserialize)]
struct Header {
    schedule: u64,
    executor: String,
}

impl Schedule {
    /// Writes it as JSON lines.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut to: impl Write) -> std::io::Result<()> {
        let header = Header { schedule: VERSION, executor: self.executor.clone() };
        serde_json::to_writer(&mut to, &header)?;
        writeln!(to)?;
        let events = self.events.iter().map(|Event { kind, kernel: k, ns }| match kind {
            EventKind::Start => Line::Start { k: *k, ns: *ns },
            EventKind::End => Line::End { k: *k, ns: *ns },
        });
        for line in events.chain(self.versions.iter().map(|w| Line::Version { w: *w })) {
            serde_json::to_writer(&mut to, &line)?;
            writeln!(to)?;
        }
        to.flush()
    }

    /// Reads what [`Schedule::write`] has written, and checks it: each kernel starts once, and ends at most once, after it has started;
    /// versions ascend. What was still running when the run was recorded has no end.
    ///
    /// # Errors
    /// [`Error::Schedule`], with the line.
    pub fn read(mut from: impl BufRead) -> Result<Self, Error> {
        let bad = |line: usize, problem: String| Error::Schedule { line: line + 1, problem };
        let mut line = Vec::new();
        let header = next::<Header>(&mut from, &mut line).map_err(|problem| bad(0, problem))?;
        let header = header.ok_or_else(|| bad(0, "the file is empty".into()))?;
        if header.schedule != VERSION {
            return Err(bad(
                0,
                format!("version {}; this windlass reads version {VERSION}", header.schedule),
            ));
        }
        let mut schedule = Self { executor: header.executor, ..Self::default() };
        let mut running = std::collections::BTreeSet::new();
        let mut started = std::collections::BTreeSet::new();
        for n in 1.. {
            let line = next::<Line>(&mut from, &mut line).map_err(|problem| bad(n, problem))?;
            let Some(line) = line else { break };
            let (kind, kernel, ns) = match line {
                Line::Start { k, .. } if !started.insert(k) => {
                    return Err(bad(n, format!("kernel {k} starts twice")));
                }
                Line::Start { k, ns } => {
                    running.insert(k);
                    (EventKind::Start, k, ns)
                }
                Line::End { k, .. } if !running.remove(&k) => {
                    return Err(bad(n, format!("kernel {k} ends and does not run")));
                }
                Line::End { k, ns } => (EventKind::End, k, ns),
                Line::Version { w } if schedule.versions.last().is_some_and(|last| *last >= w) => {
                    return Err(bad(n, format!("write {w} does not come after the one before")));
                }
                Line::Version { w } => {
                    schedule.versions.push(w);
                    continue;
                }
            };
            schedule.events.push(Event { kind, kernel, ns });
        }
        Ok(schedule)
    }

    /// The order alone, without the times: what a replay repeats.
    pub fn order(&self) -> impl Iterator<Item = (EventKind, u64)> + '_ {
        self.events.iter().map(|e| (e.kind, e.kernel))
    }
}

/// The next line; `line` is for its text.
fn next<T: DeserializeOwned>(from: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Option<T>, String> {
    match read_line(from, line).map_err(|e| e.to_string())? {
        // Without its newline, or what ends early would end in a second line.
        Next::Line => serde_json::from_slice(line.trim_ascii_end()).map(Some).map_err(|e| e.to_string()),
        Next::TooLong => Err(format!(
            "it is longer than {MAX_LINE_BYTES} bytes; give what `Schedule::write` or windlass_write_recording() wrote"
        )),
        Next::End => Ok(None),
    }
}
