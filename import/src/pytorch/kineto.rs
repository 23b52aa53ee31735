//! The profile: what the GPU ran, and which operator launched it.
//!
//! A GPU event names the operator that was running at its launch by `External id`; the operator's own event has the same, and with it the
//! `Record function id` that the execution trace calls `rf_id`. `correlation` names the call of the runtime that launched it.

use super::error::{Problem, PytorchErrors};
use super::input::{Document, Fault, shown, walk, wrong};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};

/// What the GPU did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kernel,
    Copy,
    Set,
}

#[derive(Clone, Debug)]
pub(super) struct GpuEvent {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) smem: u64,
    pub(super) regs: Option<u32>,
    pub(super) stream: u32,
    device: u64,
    correlation: u64,
    external: Option<u64>,
    /// Nanoseconds.
    start: f64,
    duration: f64,
    /// Bytes that a copy moves.
    pub(super) bytes: Option<u64>,
    /// Whether nothing else ran on the GPU meanwhile.
    pub(super) alone: bool,
}

impl GpuEvent {
    pub(super) fn dur_ns(&self) -> u64 {
        // Never negative, and below 2^64: the reader sees to it.
        self.duration.round() as u64
    }
}

/// A kernel, or a place where the host waited.
#[derive(Clone, Debug)]
pub(super) enum Launch {
    Gpu(GpuEvent),
    Sync(String),
}

#[derive(Debug, Default)]
pub(super) struct Profile {
    gpu: Vec<GpuEvent>,
    /// Calls that wait: correlation, from when in nanoseconds, name.
    syncs: Vec<(u64, f64, String)>,
    /// Operators by `External id`: record function and name.
    operators: HashMap<u64, (u64, String)>,
    /// `External id` of calls by correlation.
    calls: HashMap<u64, u64>,
    /// When they were made, in nanoseconds.
    called: HashMap<u64, f64>,
    devices: HashMap<u64, (String, Option<u32>)>,
    spans: HashMap<u64, Span>,
    /// Of the memory of a GPU, or of the host's.
    memory: Vec<(Option<u64>, MemoryEvent)>,
}

/// When an operator ran, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: f64,
    pub(super) end: f64,
}

/// An allocation, or with negative bytes a free.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryEvent {
    /// Nanoseconds.
    pub(super) time: f64,
    pub(super) address: u64,
    pub(super) bytes: i64,
}

const HOW: &str = "record with torch.profiler.profile, and write it with export_chrome_trace";

/// Calls that return when the GPU has done what was launched before.
const WAITS: [&str; 8] = [
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "hipDeviceSynchronize",
    "hipStreamSynchronize",
    "hipEventSynchronize",
];

/// Calls that return when their own copy is done, and with it all that was launched before.
const WAITING_COPIES: [&str; 21] = [
    "cudaMemcpy",
    "cudaMemcpy2D",
    "cudaMemcpy3D",
    "cudaMemcpyFromArray",
    "cudaMemcpyFromSymbol",
    "cudaMemcpyToArray",
    "cudaMemcpyToSymbol",
    "cuMemcpy",
    "cuMemcpy2D_v2",
    "cuMemcpy3D_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyHtoD_v2",
    "hipMemcpy",
    "hipMemcpy2D",
    "hipMemcpy3D",
    "hipMemcpyDtoH",
    "hipMemcpyFromSymbol",
    "hipMemcpyHtoD",
    "hipMemcpyParam2D",
    "hipMemcpyToSymbol",
    "hipMemcpyWithStream",
];

impl Profile {
    pub(super) fn read(file: &str, text: &[u8]) -> Result<Self, PytorchErrors> {
        let mut profile = Self::default();
        walk(file, text, &mut profile, HOW)?;
        Ok(profile)
    }

    /// When a record function ran.
    pub(super) fn span(&self, rf_id: u64) -> Option<Span> {
        self.spans.get(&rf_id).copied()
    }

    /// Forgets all GPUs but one: the wanted one if it ran anything, else the one that ran most. Returns what ran on others.
    pub(super) fn keep_one_gpu(&mut self, wanted: Option<u64>) -> Vec<String> {
        let wanted = wanted.filter(|wanted| self.gpu.iter().any(|event| event.device == *wanted));
        let Some(kept) = wanted.or_else(|| self.busiest()) else { return Vec::new() };
        self.memory.retain(|(gpu, _)| gpu.is_none_or(|gpu| gpu == kept));
        self.gpu.extract_if(.., |event| event.device != kept).map(|event| event.name).collect()
    }

    fn busiest(&self) -> Option<u64> {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        self.gpu.iter().for_each(|event| *counts.entry(event.device).or_default() += 1);
        let busiest = counts.into_iter().max_by_key(|(device, count)| (*count, std::cmp::Reverse(*device)));
        busiest.map(|(device, _)| device)
    }

    /// Allocations and frees in order, of the GPU's memory or of the host's.
    pub(super) fn memory(&self, on_gpu: bool) -> Vec<MemoryEvent> {
        let mut events: Vec<MemoryEvent> =
            self.memory.iter().filter(|(gpu, _)| gpu.is_some() == on_gpu).map(|(_, event)| *event).collect();
        events.sort_by(|a, b| a.time.total_cmp(&b.time));
        events
    }

    pub(super) fn gpu_events(&self) -> usize {
        self.gpu.len()
    }

    /// Operators as `(record function, name)`, in no order.
    pub(super) fn operators(&self) -> impl Iterator<Item = (u64, &str)> {
        self.operators.values().map(|(rf_id, name)| (*rf_id, name.as_str()))
    }

    /// The record function that launched an event, where the profile says.
    pub(super) fn record_function(&self, event: &GpuEvent) -> Option<u64> {
        let external = event.external.filter(|id| self.operators.contains_key(id));
        let external = external.or_else(|| self.calls.get(&event.correlation).copied())?;
        self.operators.get(&external).map(|(rf_id, _)| *rf_id)
    }

    /// When the host launched an event, in nanoseconds, where the profile says.
    pub(super) fn launched_at(&self, event: &GpuEvent) -> Option<f64> {
        self.called.get(&event.correlation).copied()
    }

    /// Name and SMs of the GPU that ran most events.
    pub(super) fn device(&self) -> Option<&(String, Option<u32>)> {
        self.devices.get(&self.busiest()?)
    }

    /// Everything in the order of the calls that launched it: correlations count up from call to call. Waits before the first and
    /// after the last kernel wait for nothing here.
    pub(super) fn launches(&self) -> Vec<Launch> {
        let mut gpu = self.gpu.clone();
        mark_alone(&mut gpu);
        let mut all: Vec<(u64, f64, Launch)> = Vec::new();
        // The host does not wait for a copy within the GPU.
        let within = gpu.iter().filter(|event| event.kind == Kind::Copy && event.name.contains("DtoD"));
        let within: HashSet<u64> = within.map(|event| event.correlation).collect();
        let waits = self
            .syncs
            .iter()
            .filter(|(correlation, from, _)| from.is_finite() || !within.contains(correlation));
        all.extend(waits.map(|(c, start, name)| (*c, *start, Launch::Sync(name.clone()))));
        all.extend(gpu.into_iter().map(|event| (event.correlation, event.start, Launch::Gpu(event))));
        // Kernels of a graph have one correlation; they are taken as they ran.
        all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut launches: Vec<Launch> = Vec::new();
        for (_, _, launch) in all {
            if matches!(launch, Launch::Gpu(_)) || matches!(launches.last(), Some(Launch::Gpu(_))) {
                launches.push(launch);
            }
        }
        if matches!(launches.last(), Some(Launch::Sync(_))) {
            launches.pop();
        }
        launches
    }
}

/// Marks what had the GPU for itself; time stamps are rounded to nanoseconds, so neighbours may seem to touch.
fn mark_alone(gpu: &mut [GpuEvent]) {
    const ROUNDING_NS: f64 = 2.0;
    gpu.sort_by(|a, b| a.device.cmp(&b.device).then(a.start.total_cmp(&b.start)));
    let mut longest: Option<usize> = None;
    for at in 0..gpu.len() {
        let end = |event: &GpuEvent| event.start + event.duration - ROUNDING_NS;
        match longest.filter(|other| gpu[*other].device == gpu[at].device) {
            Some(other) if gpu[at].start < end(&gpu[other]) => {
                gpu[at].alone = false;
                gpu[other].alone = false;
                if end(&gpu[at]) > end(&gpu[other]) {
                    longest = Some(at);
                }
            }
            _ => longest = Some(at),
        }
    }
}

fn dimensions(args: &Json, axis: &'static str) -> Result<[u32; 3], Fault> {
    let bad = || (Some(format!("args.{axis}")), Problem::BadDimensions { axis, found: shown(&args[axis]) });
    let list = args[axis].as_array().filter(|list| list.len() == 3).ok_or_else(bad)?;
    let mut dims = [0; 3];
    for (dim, json) in dims.iter_mut().zip(list) {
        let value = json.as_u64().and_then(|value| u32::try_from(value).ok());
        *dim = value.filter(|value| *value > 0).ok_or_else(bad)?;
    }
    let product = dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(u64::from(*dim)));
    product.map(|_| dims).ok_or_else(bad)
}

impl Document for Profile {
    const ARRAY: &'static str = "traceEvents";

    fn wants(&self, key: &str) -> bool {
        key == "deviceProperties"
    }

    fn field(&mut self, _: &str, value: Json) {
        for device in value.as_array().into_iter().flatten() {
            let sms =
                device["numSms"].as_u64().and_then(|sms| u32::try_from(sms).ok()).filter(|sms| *sms > 0);
            if let (Some(id), Some(name)) = (device["id"].as_u64(), device["name"].as_str()) {
                self.devices.insert(id, (name.to_owned(), sms));
            }
        }
    }

    fn element(&mut self, at: u64, json: Json) -> Result<(), (Option<u64>, Fault)> {
        let args = &json["args"];
        // Old versions wrote numbers as strings, and categories with a capital.
        let id = |key: &str| args[key].as_u64().or_else(|| args[key].as_str()?.parse().ok());
        let kind = match json["cat"].as_str().unwrap_or_default() {
            "kernel" | "Kernel" => Kind::Kernel,
            "gpu_memcpy" | "Memcpy" => Kind::Copy,
            "gpu_memset" | "Memset" => Kind::Set,
            "cpu_op" | "user_annotation" => {
                if let (Some(external), Some(rf_id)) = (id("External id"), id("Record function id")) {
                    let name = json["name"].as_str().unwrap_or_default().to_owned();
                    self.operators.insert(external, (rf_id, name));
                    if let (Ok(start), Ok(duration)) = (time(&json, "ts"), time(&json, "dur")) {
                        self.spans.insert(rf_id, Span { start, end: start + duration });
                    }
                }
                return Ok(());
            }
            "cpu_instant_event" if json["name"] == "[memory]" => {
                // 0 is the host.
                let gpu = id("Device Type").filter(|kind| *kind > 0).map(|_| id("Device Id").unwrap_or(0));
                if let (Ok(time), Some(address), Some(bytes)) =
                    (time(&json, "ts"), id("Addr"), args["Bytes"].as_i64())
                {
                    self.memory.push((gpu, MemoryEvent { time, address, bytes }));
                }
                return Ok(());
            }
            "cuda_runtime" | "cuda_driver" | "Runtime" => {
                if let Some(correlation) = id("correlation") {
                    if let Some(external) = id("External id") {
                        self.calls.insert(correlation, external);
                    }
                    if let Ok(start) = time(&json, "ts") {
                        self.called.insert(correlation, start);
                    }
                    let name = json["name"].as_str().unwrap_or_default();
                    if WAITS.contains(&name) {
                        let start = time(&json, "ts").map_err(|fault| (Some(at), fault))?;
                        self.syncs.push((correlation, start, name.to_owned()));
                    } else if WAITING_COPIES.contains(&name) {
                        // The copy has the same correlation, and begins after the call did.
                        self.syncs.push((correlation, f64::INFINITY, name.to_owned()));
                    }
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let event = gpu_event(kind, &json, id("External id"), id("correlation"));
        self.gpu.push(event.map_err(|fault| (Some(at), fault))?);
        Ok(())
    }
}

/// In nanoseconds.
fn time(json: &Json, key: &str) -> Result<f64, Fault> {
    let value = json[key].as_f64().filter(|us| (0.0..1e15).contains(us));
    value.map(|us| us * 1e3).ok_or_else(|| wrong(key, "a time in microseconds", &json[key]))
}

fn gpu_event(
    kind: Kind,
    json: &Json,
    external: Option<u64>,
    correlation: Option<u64>,
) -> Result<GpuEvent, Fault> {
    let args = &json["args"];
    let name = json["name"].as_str().ok_or_else(|| wrong("name", "a string", &json["name"]))?.to_owned();
    let correlation =
        correlation.ok_or_else(|| wrong("args.correlation", "a whole number", &args["correlation"]))?;
    let small = |key: &str, most: u32| -> Result<Option<u32>, Fault> {
        let value = &args[key];
        let read = value.as_u64().and_then(|value| u32::try_from(value).ok()).filter(|value| *value <= most);
        match value {
            Json::Null => Ok(None),
            value => {
                read.map(Some).ok_or_else(|| wrong(&format!("args.{key}"), "a small whole number", value))
            }
        }
    };
    let (grid, block) = match kind {
        Kind::Kernel => (dimensions(args, "grid")?, dimensions(args, "block")?),
        // Copy engines have no grid.
        Kind::Copy | Kind::Set => ([1; 3], [32, 1, 1]),
    };
    Ok(GpuEvent {
        kind,
        name,
        grid,
        block,
        smem: args["shared memory"].as_u64().unwrap_or(0),
        regs: small("registers per thread", 255)?,
        stream: small("stream", u32::MAX)?.unwrap_or(0),
        device: args["device"].as_u64().unwrap_or(0),
        correlation,
        external,
        start: time(json, "ts")?,
        duration: time(json, "dur")?,
        bytes: args["bytes"].as_u64(),
        alone: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(events: &Json) -> Result<Profile, PytorchErrors> {
        let text = serde_json::json!({ "traceEvents": events }).to_string();
        Profile::read("profile.json", text.as_bytes())
    }

    /// Where correlations do not tell, as within a graph, the times do, in one unit.
    #[test]
    fn a_wait_between_kernels_of_one_correlation_stays_between_them() {
        let kernel = |ts: u64| {
            let args = serde_json::json!({ "correlation": 7, "grid": [1, 1, 1], "block": [32, 1, 1] });
            serde_json::json!({ "cat": "kernel", "name": "k", "ts": ts, "dur": 5, "args": args })
        };
        let wait = |ts: Json| {
            let args = serde_json::json!({ "correlation": 7 });
            serde_json::json!({ "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": ts, "args": args })
        };
        let read = profile(&serde_json::json!([kernel(1000), wait(1010.into()), kernel(1020)]));
        let launches = read.unwrap_or_else(|e| panic!("{e}")).launches();
        let waits: Vec<bool> = launches.iter().map(|launch| matches!(launch, Launch::Sync(_))).collect();
        assert_eq!(waits, [false, true, false]);
        for ts in [Json::Null, (-1).into(), "now".into()] {
            let error = profile(&serde_json::json!([wait(ts)])).expect_err("no time").to_string();
            assert!(error.contains("a time in microseconds"), "{error}");
        }
    }

    /// Addresses of two GPUs may be the same.
    #[test]
    fn the_memory_of_another_gpu_is_not_this_one_s() {
        let memory = |kind: u64, device: u64| {
            let args = serde_json::json!({ "Device Type": kind, "Device Id": device, "Addr": 4096, "Bytes": 64 + device });
            serde_json::json!({ "cat": "cpu_instant_event", "name": "[memory]", "ts": 1, "args": args })
        };
        let args =
            serde_json::json!({ "correlation": 1, "device": 1, "grid": [1, 1, 1], "block": [32, 1, 1] });
        let kernel = serde_json::json!({ "cat": "kernel", "name": "k", "ts": 1, "dur": 5, "args": args });
        let events = serde_json::json!([memory(0, 2), memory(1, 0), memory(1, 1), kernel]);
        let mut read = profile(&events).unwrap_or_else(|e| panic!("{e}"));
        // The first ran nothing.
        assert!(read.keep_one_gpu(Some(0)).is_empty());
        let bytes = |on_gpu| read.memory(on_gpu).iter().map(|event| event.bytes).collect::<Vec<_>>();
        assert_eq!((bytes(true), bytes(false)), (vec![65], vec![66]));
    }

    /// As `hipMemcpyWithStream`, which PyTorch calls on AMD's GPUs where it calls an asynchronous copy and a wait on NVIDIA's.
    #[test]
    fn a_copy_that_waits_is_before_its_wait() {
        let event = |correlation: u64, category: &str, name: &str, ts: u64| {
            let args =
                serde_json::json!({ "correlation": correlation, "grid": [1, 1, 1], "block": [32, 1, 1] });
            serde_json::json!({ "cat": category, "name": name, "ts": ts, "dur": 5, "args": args })
        };
        for call in ["hipMemcpyWithStream", "cudaMemcpy", "cuMemcpyDtoH_v2"] {
            let order = |copy: &str| {
                let events = serde_json::json!([
                    event(1, "kernel", "k", 1000),
                    event(2, "cuda_runtime", call, 990),
                    event(2, "gpu_memcpy", copy, 1010),
                    event(3, "kernel", "l", 1030),
                ]);
                let launches = profile(&events).unwrap_or_else(|e| panic!("{e}")).launches();
                let name = |launch| match launch {
                    Launch::Gpu(event) => event.name,
                    Launch::Sync(why) => why,
                };
                launches.into_iter().map(name).collect::<Vec<_>>()
            };
            assert_eq!(order("Memcpy DtoH"), ["k", "Memcpy DtoH", call, "l"]);
            assert_eq!(order("Memcpy DtoD"), ["k", "Memcpy DtoD", "l"], "the host goes on");
        }
    }
}
