//! Timelines for Perfetto (Chrome trace event JSON): SMs, window slots and counters, policy by policy.

use crate::device::CtaSpan;
use crate::policy::{SlotSpan, Stream};
use crate::run::Recording;
use std::io::{self, Write};
use windlass_runtime::ktrace::KernelType;

/// Writes the timeline of one co-simulation. Times are microseconds at `clock_mhz`; the same recordings give the same bytes.
///
/// Per policy there is one process of SMs (a row per SM and type of CTA; where kernels overlap on it, as many rows as it takes), one of
/// window slots (a row per slot, from insertion to retirement, with the dispatch marked), and counters of busy SMs, CTAs by type and
/// window fill.
pub fn write(
    out: &mut dyn Write,
    stream: &Stream,
    clock_mhz: u32,
    recordings: &[Recording],
) -> io::Result<()> {
    let mut events = Events { out, clock_mhz, first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    for (index, recording) in recordings.iter().enumerate() {
        let (sms, slots) = (2 * index + 1, 2 * index + 2);
        let policy = recording.name();
        let slices = merge(&recording.ctas);
        if !slices.is_empty() {
            events.process(sms, &format!("{policy}: SMs"))?;
            events.slices(sms, stream, &slices)?;
            let busy = slices_per_sm(&slices);
            events.counter(sms, "busy SMs", &busy)?;
            for (kind, name, _) in TYPES {
                let of_kind = |cta: &&CtaSpan| kind_of(stream, cta) == Some(kind);
                let ctas: Vec<_> = recording.ctas.iter().filter(of_kind).map(|c| (c.start, c.end)).collect();
                events.counter(sms, &format!("{name} CTAs"), &ctas)?;
            }
        }
        if !recording.slots.is_empty() {
            events.process(slots, &format!("{policy}: window slots"))?;
            events.slots(slots, stream, &recording.slots)?;
            let fill = recording
                .slots
                .iter()
                .map(|s| (s.insert.saturating_add(1), s.retire.saturating_add(1)))
                .collect::<Vec<_>>();
            events.counter(slots, "kernels in the window", &fill)?;
        }
    }
    events.out.write_all(b"\n]}\n")
}

/// Types of CTAs: their names and colours.
const TYPES: [(KernelType, &str, &str); 3] = [
    (KernelType::Simt, "SIMT", "thread_state_running"),
    (KernelType::Tensor, "TENSOR", "thread_state_iowait"),
    (KernelType::Copy, "COPY", "thread_state_runnable"),
];

fn kind_of(stream: &Stream, cta: &CtaSpan) -> Option<KernelType> {
    stream.kernels().get(cta.kernel as usize).map(|kernel| kernel.kind)
}

/// Touching and overlapping CTAs of one kernel on one SM become one.
fn merge(ctas: &[CtaSpan]) -> Vec<CtaSpan> {
    let mut sorted = ctas.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<CtaSpan> = Vec::new();
    for cta in sorted {
        match merged.last_mut() {
            Some(last) if (last.sm, last.kernel) == (cta.sm, cta.kernel) && cta.start <= last.end => {
                last.end = last.end.max(cta.end);
            }
            _ => merged.push(cta),
        }
    }
    merged.sort_unstable_by_key(|s| (s.sm, s.start, s.kernel));
    merged
}

/// The times in which each SM is busy; `slices` by SM and start.
fn slices_per_sm(slices: &[CtaSpan]) -> Vec<(u64, u64)> {
    let mut busy: Vec<(u32, u64, u64)> = Vec::new();
    for s in slices {
        match busy.last_mut() {
            Some((sm, _, end)) if *sm == s.sm && s.start <= *end => *end = s.end.max(*end),
            _ => busy.push((s.sm, s.start, s.end)),
        }
    }
    busy.into_iter().map(|(_, start, end)| (start, end)).collect()
}

struct Events<'a> {
    out: &'a mut dyn Write,
    clock_mhz: u32,
    first: bool,
}

impl Events<'_> {
    fn event(&mut self, fields: std::fmt::Arguments<'_>) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.first) { "\n" } else { ",\n" };
        write!(self.out, "{separator}{{{fields}}}")
    }

    /// Microseconds in `cycles`, to a thousandth of a nanosecond; exact integer arithmetic.
    fn micros(&self, cycles: u64) -> String {
        let picoseconds = u128::from(cycles) * 1_000_000 / u128::from(self.clock_mhz.max(1));
        format!("{}.{:06}", picoseconds / 1_000_000, picoseconds % 1_000_000)
    }

    fn process(&mut self, pid: usize, name: &str) -> io::Result<()> {
        self.event(format_args!(r#""ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{name}"}}"#))?;
        self.event(format_args!(
            r#""ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}"#
        ))
    }

    fn row(&mut self, pid: usize, tid: usize, name: &str) -> io::Result<()> {
        self.event(format_args!(
            r#""ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"{name}"}}"#
        ))?;
        self.event(format_args!(
            r#""ph":"M","pid":{pid},"tid":{tid},"name":"thread_sort_index","args":{{"sort_index":{tid}}}"#
        ))
    }

    fn slice(
        &mut self,
        (pid, tid): (usize, usize),
        (start, end): (u64, u64),
        stream: &Stream,
        kernel: usize,
    ) -> io::Result<()> {
        let Some(k) = stream.kernels().get(kernel) else { return Ok(()) };
        let Some((_, category, colour)) = TYPES.into_iter().find(|(kind, ..)| *kind == k.kind) else {
            return Ok(());
        };
        let origin = match stream.traces() {
            [_] => String::new(),
            traces => {
                let trace =
                    serde_json::to_string(&traces[stream.origin(kernel)]).map_err(io::Error::other)?;
                format!(r#""trace":{trace},"#)
            }
        };
        let name = serde_json::to_string(&k.name).map_err(io::Error::other)?;
        let (ts, dur) = (self.micros(start), self.micros(end.saturating_sub(start)));
        self.event(format_args!(
            r#""ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":{name},"cat":"{category}","cname":"{colour}","args":{{{origin}"kernel":{kernel},"start_cycle":{start},"end_cycle":{end}}}"#
        ))
    }

    /// Rows of SMs by type; a slice goes to the first of its SM's and type's rows that is free. `slices` by SM and start.
    fn slices(&mut self, pid: usize, stream: &Stream, slices: &[CtaSpan]) -> io::Result<()> {
        const ROWS: usize = 1024;
        for on_sm in slices.chunk_by(|a, b| a.sm == b.sm) {
            for (t, (kind, name, _)) in TYPES.into_iter().enumerate() {
                let mut rows: Vec<u64> = Vec::new();
                for slice in on_sm.iter().filter(|slice| kind_of(stream, slice) == Some(kind)) {
                    let row = rows.iter().position(|end| *end <= slice.start).unwrap_or(rows.len());
                    let tid = (slice.sm as usize * TYPES.len() + t) * ROWS + row;
                    if row == rows.len() {
                        rows.push(0);
                        let more = if row == 0 { String::new() } else { format!(" +{row}") };
                        self.row(pid, tid, &format!("SM {} {name}{more}", slice.sm))?;
                    }
                    rows[row] = slice.end;
                    self.slice((pid, tid), (slice.start, slice.end), stream, slice.kernel as usize)?;
                }
            }
        }
        Ok(())
    }

    fn slots(&mut self, pid: usize, stream: &Stream, slots: &[SlotSpan]) -> io::Result<()> {
        let mut named = [false; 256];
        for s in slots {
            let tid = usize::from(s.slot);
            if !std::mem::replace(&mut named[tid], true) {
                self.row(pid, tid, &format!("slot {tid}"))?;
            }
            self.slice((pid, tid), (s.insert, s.retire), stream, s.kernel)?;
            let ts = self.micros(s.dispatch);
            self.event(format_args!(
                r#""ph":"i","s":"t","pid":{pid},"tid":{tid},"ts":{ts},"name":"dispatch","args":{{"kernel":{},"cycle":{}}}"#,
                s.kernel, s.dispatch
            ))?;
        }
        Ok(())
    }

    /// How many of `spans` hold, whenever that changes.
    fn counter(&mut self, pid: usize, name: &str, spans: &[(u64, u64)]) -> io::Result<()> {
        let mut changes: Vec<(u64, i64)> = spans.iter().flat_map(|(a, b)| [(*a, 1), (*b, -1)]).collect();
        changes.sort_unstable();
        let mut value = 0;
        for (i, (cycle, change)) in changes.iter().enumerate() {
            value += change;
            if changes.get(i + 1).is_none_or(|next| next.0 != *cycle) {
                let ts = self.micros(*cycle);
                self.event(format_args!(
                    r#""ph":"C","pid":{pid},"ts":{ts},"name":"{name}","args":{{"value":{value}}}"#
                ))?;
            }
        }
        Ok(())
    }
}
