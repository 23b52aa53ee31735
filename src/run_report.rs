//! What `windlass run` found: measured times, counts, images compared, and the device model's prediction.

use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use windlass_cosim::policy::{Policy as ModelPolicy, Stream};
use windlass_cosim::profile::Profile;
use windlass_cosim::run::CoSimulation;
use windlass_gen::table::counted;
use windlass_rtl::params::SchedulerParams;
use windlass_runtime::percentile::{median, percentile};
use windlass_runtime::run::{Counts, Device, KernelTime, Launches, Overlap, Policy, Program, Trial, Way};

/// Version of [`Report`]'s serialised form.
const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
pub struct Report {
    format_version: u32,
    repeats: usize,
    pub runs: Vec<Run>,
}

impl Report {
    pub fn new(repeats: usize) -> Self {
        Self { format_version: FORMAT_VERSION, repeats, runs: Vec::new() }
    }
}

/// One stream on one device.
#[derive(Serialize)]
pub struct Run {
    trace: String,
    device: String,
    /// What decided under `window`.
    decider: Option<String>,
    kernels: usize,
    ctas: u64,
    scale: u64,
    image_bytes: u64,
    streams: u32,
    /// Whether the image after `serial` is what the definition of the kernels' computation says; none where it was not compared.
    pub defined: Option<bool>,
    pub policies: Vec<Measured>,
}

/// A word that is not as `serial` left it.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Where it is in the image.
    word: u64,
    serial: u32,
    found: u32,
    /// The kernels that write it, the last of them at the end; at most eight.
    writers: Vec<usize>,
    /// Words that differ in all.
    words: u64,
}

impl Difference {
    /// Of two images with different digests: the first word that differs, and how many do. None may: memory has then changed by itself.
    pub fn new(serial: &[u32], found: &[u32], program: &Program) -> Self {
        let differing = || serial.iter().zip(found).enumerate().filter(|(_, (a, b))| a != b);
        let words = differing().count() as u64;
        let Some((word, (serial, found))) = differing().next() else {
            return Self { word: 0, serial: 0, found: 0, writers: Vec::new(), words };
        };
        let word = word as u64;
        let writes =
            |k: &usize| program.kernels()[*k].writes.iter().any(|s| (s.start..s.end).contains(&word));
        let mut writers: Vec<usize> = (0..program.kernels().len()).filter(writes).collect();
        writers.drain(..writers.len().saturating_sub(8));
        Self { word, serial: *serial, found: *found, writers, words }
    }
}

#[derive(Serialize)]
pub struct Measured {
    pub policy: Policy,
    #[serde(skip)]
    walls: Vec<u64>,
    #[serde(skip)]
    cpus: Vec<u64>,
    #[serde(skip)]
    overlaps: Vec<f64>,
    /// Microseconds: the fastest run, the median, and the 99th percentile.
    min_us: f64,
    p50_us: f64,
    p99_us: f64,
    /// Median of `serial` over the median here; none where `serial` was not run.
    speedup: Option<f64>,
    launches_per_s: f64,
    /// Kernels that run at the same time, on average over the time in which any runs; median of the runs.
    overlap: f64,
    /// Processor time of the host in microseconds, all threads; median.
    host_cpu_us: f64,
    /// What each way to launch took, where they were tried out before; medians.
    pub ways_tried: Vec<Trial>,
    /// The way that was best.
    pub way_tried_out: Option<Way>,
    /// How they were launched in the last run.
    way_chosen: Option<Way>,
    /// The first run, from 1, that had one stream instead of what was best when tried out.
    fell_back_in_run: Option<usize>,
    /// Of the last run.
    counts: Counts,
    /// What the device model predicts, in microseconds, and by how much of the measured median it is off.
    predicted_us: Option<f64>,
    error: Option<f64>,
    /// Images compared with that of `serial`, and the first difference.
    pub verified: u64,
    pub difference: Option<Difference>,
}

/// Kernels at the same time, on average over the time in which any runs.
fn overlap(times: &[KernelTime]) -> f64 {
    let mut spans: Vec<(u64, u64)> = times.iter().filter(|t| t.end > 0).map(|t| (t.start, t.end)).collect();
    spans.sort_unstable();
    let (mut busy, mut sum, mut until) = (0, 0, 0);
    for (start, end) in spans {
        sum += end - start;
        busy += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    if busy == 0 { 0.0 } else { sum as f64 / busy as f64 }
}

impl Measured {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            walls: Vec::new(),
            cpus: Vec::new(),
            overlaps: Vec::new(),
            min_us: 0.0,
            p50_us: 0.0,
            p99_us: 0.0,
            speedup: None,
            launches_per_s: 0.0,
            overlap: 0.0,
            host_cpu_us: 0.0,
            ways_tried: Vec::new(),
            way_tried_out: None,
            way_chosen: None,
            fell_back_in_run: None,
            counts: Counts::default(),
            predicted_us: None,
            error: None,
            verified: 0,
            difference: None,
        }
    }

    /// How kernels will be launched in the next run.
    pub fn goes_now(&mut self, chosen: Option<Way>) {
        self.way_chosen = chosen;
        if chosen != self.way_tried_out {
            self.fell_back_in_run.get_or_insert(self.walls.len() + 1);
        }
    }

    /// How kernels were launched, for people.
    fn way(&self) -> Option<String> {
        let way = self.way_tried_out?;
        let streams = if way.overlap == Overlap::Never {
            String::new()
        } else {
            format!(", {}", counted(way.streams, "stream"))
        };
        let launches = |way: Way| match way.launches {
            Launches::Kernels => "",
            Launches::Chains => ", in chains",
            Launches::Subgraphs => ", in subgraphs",
        };
        let best = match way.overlap {
            Overlap::Never => "one stream",
            Overlap::WhereItPays => "overlap where the costs say that it pays",
            Overlap::Everywhere => "overlap wherever kernels may",
        };
        let then = match self.fell_back_in_run {
            None => String::new(),
            Some(run) => format!(
                "; one stream{} from run {run} of {} on, because the five runs before had got slower than that",
                match self.way_chosen.map_or("", launches) {
                    "" => String::new(),
                    launches => format!("{launches},"),
                },
                self.walls.len()
            ),
        };
        Some(format!("{}: {best}{streams}{}, the fastest when tried out{then}", self.policy, launches(way)))
    }

    /// Another run.
    pub fn add(&mut self, counts: Counts, times: &[KernelTime]) {
        self.walls.push(counts.wall_ns);
        self.cpus.push(counts.cpu_ns);
        self.overlaps.push(overlap(times));
        self.counts = counts;
    }

    fn finish(&mut self, kernels: usize, serial: Option<f64>) {
        self.walls.sort_unstable();
        let at = |percent| percentile(&self.walls, percent).unwrap_or(0) as f64 / 1e3;
        (self.min_us, self.p50_us, self.p99_us) = (at(0), at(50), at(99));
        self.speedup = serial.filter(|_| self.p50_us > 0.0).map(|serial| serial / self.p50_us);
        self.launches_per_s = if self.p50_us > 0.0 { kernels as f64 * 1e6 / self.p50_us } else { 0.0 };
        self.overlap = median(std::mem::take(&mut self.overlaps));
        self.host_cpu_us = median(self.cpus.iter().map(|ns| *ns as f64 / 1e3).collect());
        self.error = self.predicted_us.filter(|_| self.p50_us > 0.0).map(|p| p / self.p50_us - 1.0);
    }
}

impl Run {
    pub fn new(program: &Program, device: &dyn Device, decider: Option<String>) -> Self {
        Self {
            trace: program.name().into(),
            device: device.name(),
            decider,
            kernels: program.kernels().len(),
            ctas: program.kernels().iter().map(|k| k.ctas()).sum(),
            scale: program.scale(),
            image_bytes: program.words() * 4,
            streams: device.streams(),
            defined: None,
            policies: Vec::new(),
        }
    }

    /// Some image was not that of `serial`, or that of `serial` not as defined.
    pub fn is_wrong(&self) -> bool {
        self.defined == Some(false) || self.policies.iter().any(|p| p.difference.is_some())
    }

    /// Asks the device model for the policies that it has.
    pub fn predict(
        &mut self,
        profile: &Profile,
        stream: &Stream,
        streams: usize,
        graph_window: usize,
        params: SchedulerParams,
    ) {
        for measured in &mut self.policies {
            let policy = match measured.policy {
                Policy::Serial => ModelPolicy::Serial,
                Policy::StreamsAce => ModelPolicy::StreamsAce,
                Policy::Graph => ModelPolicy::Graph,
                // Their own plan is the prediction, by the same costs.
                Policy::Streams | Policy::Pdl => {
                    let expected = measured.counts.expected_ns;
                    measured.predicted_us = (expected > 0).then_some(expected as f64 / 1e3);
                    continue;
                }
                Policy::GraphCached => ModelPolicy::GraphCached,
                // The model has the scheduler in the GPU, not beside it.
                Policy::Window => continue,
            };
            let mut simulation = CoSimulation::new(profile.clone(), params);
            simulation.policies = vec![policy];
            simulation.streams = streams;
            simulation.graph_window = Some(graph_window);
            let result = simulation.run(stream, |_| unreachable!("no policy here has a front end"));
            measured.predicted_us =
                result.ok().and_then(|outcome| outcome.report.policies.first().map(|p| p.micros));
        }
    }

    pub fn finish(&mut self) {
        for measured in &mut self.policies {
            measured.finish(self.kernels, None);
        }
        let serial = self.policies.iter().find(|p| p.policy == Policy::Serial).map(|p| p.p50_us);
        for measured in &mut self.policies {
            measured.speedup = serial.filter(|_| measured.p50_us > 0.0).map(|s| s / measured.p50_us);
        }
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} on {}: {}, {}, {}, an image of {:.1} MiB{}\n",
            self.trace,
            self.device,
            counted(self.kernels, "kernel"),
            counted(self.ctas, "CTA"),
            counted(self.streams, "stream"),
            self.image_bytes as f64 / 1048576.0,
            if self.scale > 1 { format!(", memory divided by {}", self.scale) } else { String::new() },
        );
        if let Some(decider) = &self.decider {
            let _ = writeln!(text, "window: {decider}");
        }
        if let Some(defined) = self.defined {
            let verdict =
                if defined { "as the kernels are defined" } else { "WRONG: not as the kernels are defined" };
            let _ = writeln!(text, "memory after serial: {verdict}");
        }
        let _ = writeln!(
            text,
            "{:<13}{:>11}{:>11}{:>11}{:>9}{:>12}{:>9}{:>12}{:>12}{:>8}  memory",
            "policy",
            "min µs",
            "p50 µs",
            "p99 µs",
            "speed-up",
            "launches/s",
            "overlap",
            "host CPU µs",
            "model µs",
            "off",
        );
        for p in &self.policies {
            let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
            let memory = match &p.difference {
                Some(d) => format!(
                    "WRONG: {} words, the first is {} (written by {:?}): {:#010X}, serial {:#010X}",
                    d.words, d.word, d.writers, d.found, d.serial
                ),
                None if p.verified > 0 => "as serial".into(),
                None => "-".into(),
            };
            let _ = writeln!(
                text,
                "{:<13}{:>11.1}{:>11.1}{:>11.1}{:>9}{:>12.0}{:>9.2}{:>12.1}{:>12}{:>8}  {memory}",
                p.policy.name(),
                p.min_us,
                p.p50_us,
                p.p99_us,
                or_dash(p.speedup.map(|s| format!("{s:.2}x"))),
                p.launches_per_s,
                p.overlap,
                p.host_cpu_us,
                or_dash(p.predicted_us.map(|us| format!("{us:.1}"))),
                or_dash(p.error.map(|e| format!("{:+.0}%", e * 100.0))),
            );
        }
        for p in &self.policies {
            if let Some(line) = p.way() {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

/// When each kernel ran, for Perfetto: rows are filled so that kernels which ran at the same time do not share one.
pub fn timeline(
    out: &mut dyn Write,
    policy: Policy,
    program: &Program,
    times: &[KernelTime],
) -> std::io::Result<()> {
    let mut order: Vec<usize> = (0..times.len()).filter(|k| times[*k].end > 0).collect();
    order.sort_by_key(|k| times[*k].start);
    let begin = order.first().map_or(0, |k| times[*k].start);
    let mut rows: Vec<u64> = Vec::new();
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    write!(
        out,
        "{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
        serde_json::to_string(&format!("{}, {policy}", program.name()))?
    )?;
    for k in order {
        let KernelTime { start, end } = times[k];
        let row = rows.iter().position(|until| *until <= start).unwrap_or_else(|| {
            rows.push(0);
            rows.len() - 1
        });
        rows[row] = end;
        let kernel = &program.kernels()[k];
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{row},\"ts\":{:.3},\"dur\":{:.3},\"name\":{},\"args\":{{\"kernel\":{k}}}}}",
            (start - begin) as f64 / 1e3,
            (end - start) as f64 / 1e3,
            serde_json::to_string(&kernel.name)?
        )?;
    }
    writeln!(out, "]}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_runtime::ktrace::{Reader, Trace};
    use windlass_runtime::run::Work;

    fn times(spans: &[(u64, u64)]) -> Vec<KernelTime> {
        spans.iter().map(|(start, end)| KernelTime { start: *start, end: *end }).collect()
    }

    #[test]
    fn overlap_is_over_the_time_in_which_any_kernel_runs() {
        assert_eq!(overlap(&[]), 0.0);
        assert_eq!(overlap(&times(&[(10, 20), (30, 40)])), 1.0, "gaps do not count");
        assert_eq!(overlap(&times(&[(10, 30), (10, 30)])), 2.0);
        assert_eq!(overlap(&times(&[(15, 25), (10, 20)])), 20.0 / 15.0, "in any order");
        assert_eq!(overlap(&times(&[(10, 40), (20, 30), (30, 40)])), 50.0 / 30.0, "one inside another");
        assert_eq!(overlap(&times(&[(0, 0), (10, 20)])), 1.0, "what has not run does not count");
    }

    #[test]
    fn a_fall_back_in_the_middle_is_told() {
        let mut measured = Measured::new(Policy::Streams);
        let chains = Way { overlap: Overlap::Everywhere, streams: 3, launches: Launches::Chains };
        measured.way_tried_out = Some(chains);
        for run in 0..7 {
            let chosen = if run < 5 {
                chains
            } else {
                Way { overlap: Overlap::Never, streams: 1, launches: Launches::Kernels }
            };
            measured.goes_now(Some(chosen));
            if run == 4 {
                let line = measured.way();
                let stayed =
                    "streams: overlap wherever kernels may, 3 streams, in chains, the fastest when tried out";
                assert_eq!(line.as_deref(), Some(stayed));
            }
            measured.add(Counts::default(), &[]);
        }
        let line = measured.way().expect("it was tried out");
        let then =
            "tried out; one stream from run 6 of 7 on, because the five runs before had got slower than that";
        assert!(line.ends_with(then), "{line}");
        let json = serde_json::to_value(&measured).expect("JSON");
        assert_eq!(
            (&json["way_tried_out"], &json["way_chosen"]),
            (
                &serde_json::json!({ "overlap": "everywhere", "streams": 3, "launches": "chains" }),
                &serde_json::json!({ "overlap": "never", "streams": 1, "launches": "kernels" })
            )
        );
        assert_eq!(json["fell_back_in_run"], 6);
        assert_eq!(Measured::new(Policy::Graph).way(), None, "nothing to try out");
    }

    fn program() -> Program {
        let head = r#"{"e":"trace","ktrace":1,"name":"t","source":"","producer":"","gpu":{"name":"assumed"},"params":{},"kernels":3,"notes":""}"#;
        let line = |k: u32| {
            format!(
                r#"{{"e":"k","i":{k},"name":"k \"{k}\"","op":"","type":"SIMT","grid":[1,1,1],"block":[32,1,1],"smem":0,"flops":0,"r":[],"w":[[4096,64]]}}"#
            )
        };
        let text = [head.to_string(), line(0), line(1), line(2)].join("\n");
        let trace = Trace::read(Reader::new(text.as_bytes(), "t").expect("a header")).expect("a trace");
        let kernels: Vec<_> = trace.kernels().cloned().collect();
        Program::new("t", &[&kernels], &[Work::default(); 3], 1).expect("a program")
    }

    #[test]
    fn a_difference_names_the_first_word_and_who_writes_it() {
        let program = program();
        let serial = program.serial_image().unwrap();
        let mut found = serial.clone();
        (found[3], found[9]) = (1, 2);
        let difference = Difference::new(&serial, &found, &program);
        assert_eq!((difference.word, difference.found, difference.words), (3, 1, 2));
        assert_eq!((difference.serial, &difference.writers[..]), (serial[3], &[0, 1, 2][..]));
    }

    #[test]
    fn a_timeline_gives_kernels_that_overlap_rows_of_their_own() {
        let mut text = Vec::new();
        let ran = times(&[(1000, 3000), (2000, 4500), (3000, 4000)]);
        timeline(&mut text, Policy::Streams, &program(), &ran).expect("memory takes it");
        let value: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let events = value["traceEvents"].as_array().expect("an array");
        let rows: Vec<_> =
            events[1..].iter().map(|e| (&e["args"]["kernel"], &e["tid"], &e["ts"], &e["dur"])).collect();
        let want = serde_json::json!([[0, 0, 0.0, 2.0], [1, 1, 1.0, 2.5], [2, 0, 2.0, 1.0]]);
        assert_eq!(serde_json::json!(rows), want);
        assert_eq!(events[1]["name"], "k \"0\"");
    }
}
