//! Timelines for Perfetto (Chrome trace event JSON): SMs, window slots and counters, policy by policy.

use crate::device::CtaSpan;
use crate::policy::{SlotSpan, Stream};
use crate::run::Recording;
use std::io::{self, Write};
use windlass_runtime::ktrace::KernelType;

/// Writes the timeline of one co-simulation. Times are microseconds; the same recordings give the same bytes.
///
/// Per policy there is one process of SMs (a row per SM and type of CTA; where kernels overlap on it, as many rows as it takes), one of
/// window slots (a row per slot, from insertion to retirement, with the dispatch marked), and counters of busy SMs, CTAs by type and
/// window fill. A counter that changes often is [sampled](SAMPLES); all the others, and every slice and mark, are to the cycle.
pub fn write(out: &mut dyn Write, stream: &Stream, recordings: &[Recording]) -> io::Result<()> {
    let mut events = Events { out, clock_mhz: 1, first: true };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    for (index, recording) in recordings.iter().enumerate() {
        let (sms, slots) = (2 * index + 1, 2 * index + 2);
        let policy = recording.name();
        events.clock_mhz = recording.clock_mhz;
        let slices = merge(&recording.ctas);
        if !slices.is_empty() {
            events.process(sms, &format!("{policy}: SMs"))?;
            events.slices(sms, stream, &slices)?;
            let busy = slices_per_sm(&slices);
            events.counter(sms, "busy SMs", &busy)?;
            for (kind, name) in TYPES {
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

/// Types of CTAs and their names.
const TYPES: [(KernelType, &str); 3] =
    [(KernelType::Simt, "SIMT"), (KernelType::Tensor, "TENSOR"), (KernelType::Copy, "COPY")];

/// Most samples of one counter: more than a screen has columns. With one per start and end of a CTA, viewers do not open the file.
pub const SAMPLES: usize = 2048;

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

/// How many of `spans` hold, whenever that changes. Where that is more than [`SAMPLES`] times, time is divided into as many stretches,
/// and of each there is the last change: what is shown is true at its time, and what comes and goes between two is left out.
fn samples(spans: &[(u64, u64)]) -> Vec<(u64, i64)> {
    let mut changes: Vec<(u64, i64)> = spans.iter().flat_map(|(a, b)| [(*a, 1), (*b, -1)]).collect();
    changes.sort_unstable();
    let (first, last) = (changes.first().map_or(0, |c| c.0), changes.last().map_or(0, |c| c.0));
    let stretch = match changes.len() <= SAMPLES {
        true => 1,
        false => (last - first) / SAMPLES as u64 + 1,
    };
    let (mut value, mut shown) = (0, 0);
    let mut samples = Vec::new();
    for together in changes.chunk_by(|a, b| (a.0 - first) / stretch == (b.0 - first) / stretch) {
        value += together.iter().map(|(_, change)| change).sum::<i64>();
        if let Some((cycle, _)) = together.last()
            && value != shown
        {
            samples.push((*cycle, value));
            shown = value;
        }
    }
    samples
}

struct Events<'a> {
    out: &'a mut dyn Write,
    /// Of the recording that is being written.
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
        let Some((_, category)) = TYPES.into_iter().find(|(kind, _)| *kind == k.kind) else {
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
            r#""ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":{name},"cat":"{category}","args":{{{origin}"kernel":{kernel},"start":{start},"end":{end}}}"#
        ))
    }

    /// Rows of SMs by type; a slice goes to the first of its SM's and type's rows that is free. `slices` by SM and start.
    fn slices(&mut self, pid: usize, stream: &Stream, slices: &[CtaSpan]) -> io::Result<()> {
        const ROWS: usize = 1024;
        for on_sm in slices.chunk_by(|a, b| a.sm == b.sm) {
            for (t, (kind, name)) in TYPES.into_iter().enumerate() {
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

    /// How many of `spans` hold.
    fn counter(&mut self, pid: usize, name: &str, spans: &[(u64, u64)]) -> io::Result<()> {
        for (cycle, value) in samples(spans) {
            let ts = self.micros(cycle);
            self.event(format_args!(
                r#""ph":"C","pid":{pid},"ts":{ts},"name":"{name}","args":{{"value":{value}}}"#
            ))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_changes_seldom_is_shown_whole() {
        assert_eq!(samples(&[]), []);
        assert_eq!(samples(&[(5, 9), (5, 7), (7, 9), (20, 21)]), [(5, 2), (9, 0), (20, 1), (21, 0)]);
    }

    #[test]
    fn one_that_changes_often_is_true_where_it_is_shown_and_ends_at_zero() {
        let spans: Vec<(u64, u64)> =
            (0..20_000).map(|k| (1000 + 7 * k, 1000 + 7 * k + 300 * (k % 5))).collect();
        let samples = samples(&spans);
        assert!((100..=SAMPLES).contains(&samples.len()), "{}", samples.len());
        for (cycle, value) in &samples {
            let holding = spans.iter().filter(|(a, b)| a <= cycle && cycle < b).count();
            assert_eq!(*value, holding as i64, "cycle {cycle}");
        }
        assert!(samples.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 != w[1].1));
        assert!(samples.last().is_some_and(|(_, value)| *value == 0));
    }
}
