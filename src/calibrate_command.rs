//! `windlass calibrate`: what CUDA's calls cost on the GPU at hand, as a device profile.

use crate::output_file::OutputFile;
use crate::{Failure, Outcome, workload};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use windlass_cosim::profile::Profile;
use windlass_cuda::{Calibration, CudaDevice, calibrate};
use windlass_gen::table::counted;
use windlass_runtime::ktrace::{Kernel, KernelType, Segment};
use windlass_runtime::percentile::median_u64;
use windlass_runtime::run::{Costs, Device, GraphShape, Program, Work};

/// Arguments of `windlass calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// Device profile for what is not measured: the resources and rates of an SM, the memory, packets to hardware [default: the
    /// embedded one of this GPU, else h100]
    #[arg(long, value_name = "NAME|FILE")]
    base: Option<String>,
    /// Number of the GPU, from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    device: u32,
    /// Write the profile to FILE instead of printing it (`-` is stdout)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the measurements as one JSON object instead of a profile
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

/// What small footprint kernels cost, in nanoseconds.
struct Small {
    /// Such a kernel alone, on the device.
    alone: u64,
    /// A launch, on the host, into the same stream as the one before.
    launch: u64,
    /// A launch into another stream.
    other_launch: u64,
    /// Building a graph and instantiating it, per node, where nodes wait for up to two of the eight before.
    graph_node: u64,
    /// Bytes that a thread moves in a microsecond.
    thread_bytes_per_us: u64,
}

/// A kernel that reads four segments and writes two, each of so many bytes.
fn kernel(index: u64, ctas: u32, read: u64, written: u64, at: impl Fn(u64) -> u64) -> Kernel {
    Kernel {
        index,
        name: "small".into(),
        op: String::new(),
        kind: KernelType::Simt,
        grid: [ctas, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        regs: None,
        flops: 0,
        mnk: None,
        reads: (0..4).map(|n| Segment { addr: at(n), bytes: read }).collect(),
        writes: (4..6).map(|n| Segment { addr: at(n), bytes: written }).collect(),
        traffic: None,
        dur_ns: None,
        stream: 0,
        part: None,
        est: Vec::new(),
    }
}

/// What a thread moves in a microsecond: by how much longer kernels take whose threads each move twice as much. Kernels of 12 CTAs, few enough
/// to leave the bandwidth alone; a third of them reads as many words as it writes, a third twice, and a third four times as many, for a thread
/// that has more to read for a word has more on its way.
fn thread_bytes_per_us(ordinal: u32) -> Result<u64, Failure> {
    const CTAS: u32 = 12;
    const WRITTEN: [u64; 2] = [4, 8];
    const READ: [u64; 3] = [1, 2, 4];
    const EACH: usize = 16;
    let threads = 128 * u64::from(CTAS);
    let shapes: Vec<(u64, u64)> =
        READ.iter().flat_map(|read| WRITTEN.map(|written| (written, written * read))).collect();
    let bytes = |(written, read): (u64, u64)| 4 * (written + read);
    // Segments of their own, so that what is slow is memory and not another kernel's words.
    let kernel = |k: u64| {
        let (written, read) = shapes[k as usize % shapes.len()];
        kernel(k, CTAS, read * threads, 2 * written * threads, |n| (6 * k + n) << 20)
    };
    let kernels: Vec<Kernel> = (0..(EACH * shapes.len()) as u64).map(kernel).collect();
    let work = vec![Work::default(); kernels.len()];
    let program = Arc::new(Program::new("moving", &[&kernels], &work, 1)?);
    let device =
        CudaDevice::new(program, windlass_cuda::Options { ordinal, streams: 1, ..Default::default() })?;
    let mut times = vec![Vec::new(); shapes.len()];
    for _ in 0..12 {
        device.reset()?;
        (0..kernels.len() as u32).try_for_each(|k| device.launch(0, k, false))?;
        device.synchronise(0)?;
        for (k, time) in device.times()?.iter().enumerate() {
            times[k % shapes.len()].push(time.end.saturating_sub(time.start));
        }
    }
    let medians: Vec<u64> = times.into_iter().map(median_u64).collect();
    let (mut more_bytes, mut more_ns) = (0, 0);
    for (shapes, medians) in shapes.chunks(2).zip(medians.chunks(2)) {
        more_bytes += bytes(shapes[1]) - bytes(shapes[0]);
        more_ns += medians[1].saturating_sub(medians[0]);
    }
    Ok((1000 * more_bytes).checked_div(more_ns).unwrap_or(u64::MAX).clamp(1, 1 << 30))
}

/// Measures kernels of 20 CTAs of 128 threads that read four segments of 4 KiB and write two: medians.
fn small(ordinal: u32) -> Result<Small, Failure> {
    const KERNELS: u64 = 256;
    const STREAMS: u32 = 8;
    let kernels = |k| kernel(k, 20, 4096, 4096, |n| 4096 * ((6 * k + n) % 97));
    let kernels: Vec<Kernel> = (0..KERNELS).map(kernels).collect();
    let program = Arc::new(Program::new("small", &[&kernels], &[Work::default(); KERNELS as usize], 1)?);
    let options = windlass_cuda::Options { ordinal, streams: STREAMS, ..Default::default() };
    let device = CudaDevice::new(program, options)?;
    let mut times = Vec::new();
    let mut launches = [Vec::new(), Vec::new()];
    for round in 0..24 {
        device.reset()?;
        let streams = if round % 2 == 0 { 1 } else { STREAMS };
        let began = Instant::now();
        for k in 0..KERNELS as u32 {
            device.launch(k % streams, k, false)?;
        }
        launches[round % 2].push(began.elapsed().as_nanos() as u64 / KERNELS);
        for stream in 0..streams {
            device.synchronise(stream)?;
        }
        if streams == 1 {
            times.extend(device.times()?.iter().map(|t| t.end.saturating_sub(t.start)));
        }
    }
    let nodes = 0..KERNELS as u32;
    let upstream = |k: u32| {
        let mut waits: Vec<u32> =
            [1 + k % 8, 1 + k / 8 % 8].iter().filter_map(|d| k.checked_sub(*d)).collect();
        waits.sort_unstable();
        waits.dedup();
        waits
    };
    let shape = GraphShape {
        kernels: nodes.clone().collect(),
        upstream: nodes.map(upstream).collect(),
        early: false,
    };
    let mut graphs = Vec::new();
    for _ in 0..11 {
        let began = Instant::now();
        let graph = device.build_graph(&shape)?;
        graphs.push(began.elapsed().as_nanos() as u64 / KERNELS);
        device.destroy_graph(graph);
    }
    let [one, others] = launches;
    Ok(Small {
        alone: median_u64(times),
        launch: median_u64(one),
        other_launch: median_u64(others),
        graph_node: median_u64(graphs),
        thread_bytes_per_us: thread_bytes_per_us(ordinal)?,
    })
}

/// The shape of the GPU at hand: SMs, and their clock where the driver says it.
fn shaped(base: Profile, sms: u32, clock_mhz: u32) -> Profile {
    let clock_mhz = if clock_mhz == 0 { base.clock_mhz } else { clock_mhz };
    Profile { name: format!("{}-calibrated", base.name), sms: sms.max(1), clock_mhz, ..base }
}

/// The base, with what was measured: the shape, the host's costs, and the least time of a kernel.
fn profile(base: Profile, measured: &Calibration, kernels: &Small) -> Profile {
    let whole = |ns: f64| ns.round().max(0.0) as u64;
    let narrow = |ns: f64| u32::try_from(whole(ns)).unwrap_or(u32::MAX);
    let mut profile = shaped(base, measured.sms, measured.clock_mhz);
    profile.cta_floor_ns = kernels.alone.max(1);
    profile.thread_bytes_per_us = Some(kernels.thread_bytes_per_us);
    let host = &mut profile.host;
    host.launch_ns = kernels.launch;
    host.synchronise_ns = whole(measured.synchronise_ns);
    host.event_wait_ns = whole(measured.event_query_ns);
    host.stream_gap_ns = whole(measured.stream_gap_ns);
    host.graph_node_ns = kernels.graph_node;
    host.graph_launch_ns = whole(measured.graph_start_ns);
    host.graph_edge_ns = whole(measured.graph_gap_ns);
    host.notice_ns = whole(measured.notice_ns);
    profile.streams = Some(Costs {
        launch_ns: narrow(kernels.launch as f64),
        early_launch_ns: narrow(measured.launch_early_ns),
        other_launch_ns: narrow(kernels.other_launch as f64),
        busy_launch_ns: narrow(measured.launch_busy_ns),
        record_ns: narrow(measured.record_ns),
        wait_ns: narrow(measured.wait_ns),
        gap_ns: narrow(measured.stream_gap_ns),
        early_gap_ns: narrow(measured.early_gap_ns),
        cross_ns: narrow(measured.event_gap_ns),
        chain_launch_ns: narrow(measured.graph_launch_ns),
        chain_gap_ns: narrow(measured.graph_gap_ns),
    });
    profile
}

/// Runs it.
pub fn run(args: &CalibrateArgs) -> Result<Outcome, Failure> {
    // A name that is wrong is told before anything is measured.
    let given = args.base.as_deref().map(|name| Profile::load(name).map(|profile| (name, profile)));
    let given = given.transpose()?;
    // And so is a path that cannot be written.
    let out = args.out.as_deref().filter(|path| *path != Path::new(workload::STANDARD));
    let file = out.map(|path| OutputFile::begin(path, "--out")).transpose()?;
    let measured = calibrate(args.device)?;
    let text = if args.json {
        serde_json::to_string(&measured)? + "\n"
    } else {
        let (name, base) = match given {
            Some(given) => given,
            None => {
                let name = profile_of(&measured.device);
                (name, Profile::load(name)?)
            }
        };
        note_sms(&measured.device, measured.sms, &base, "memory and what an SM has are the profile's");
        let profile = profile(base, &measured, &small(args.device)?);
        format!(
            "# {}, measured by `windlass calibrate --base {name}`: sms, clock_mhz, cta_floor_ns, thread_bytes_per_us,\n\
             # [streams], and of [host] all but hazard_check_ns, packet_ns and transfer_ns, which are the base's, as is all else.\n\n{}",
            measured.device,
            toml::to_string(&profile)?
        )
    };
    match file {
        Some(file) => file.write(text)?,
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(Outcome::Done)
}

/// The embedded profile for a GPU of that name.
pub fn profile_of(device: &str) -> &'static str {
    Profile::of_device(device).unwrap_or_else(|| {
        eprintln!("note: there is no embedded profile of {device}; h100 is used instead");
        "h100"
    })
}

/// Says that the GPU at hand is not the profile's.
pub fn note_sms(device: &str, sms: u32, profile: &Profile, so: &str) {
    if sms != profile.sms {
        eprintln!(
            "note: {device} has {}, but profile {} has {}: {so}",
            counted(sms, "SM"),
            profile.name,
            profile.sms
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_cosim::profile::HostLatencies;

    #[test]
    fn a_calibrated_profile_has_the_shape_of_the_gpu_at_hand() {
        let base = || Profile::load("h100").expect("it is embedded");
        let pcie = shaped(base(), 114, 1755);
        assert_eq!((pcie.name.as_str(), pcie.sms, pcie.clock_mhz), ("h100-calibrated", 114, 1755));
        let silent = shaped(base(), 114, 0);
        assert_eq!((silent.clock_mhz, silent.sm), (base().clock_mhz, base().sm));
    }

    #[test]
    fn a_calibrated_profile_has_each_number_in_its_place() {
        let base = Profile::load("h100").expect("it is embedded");
        let kernels = Small { alone: 1, launch: 2, other_launch: 3, graph_node: 4, thread_bytes_per_us: 5 };
        let mut measured = Calibration::default();
        let fields = [
            &mut measured.synchronise_ns,
            &mut measured.event_query_ns,
            &mut measured.stream_gap_ns,
            &mut measured.graph_start_ns,
            &mut measured.graph_gap_ns,
            &mut measured.notice_ns,
            &mut measured.launch_early_ns,
            &mut measured.launch_busy_ns,
            &mut measured.record_ns,
            &mut measured.wait_ns,
            &mut measured.early_gap_ns,
            &mut measured.event_gap_ns,
            &mut measured.graph_launch_ns,
        ];
        for (field, ns) in fields.into_iter().zip(10..) {
            *field = f64::from(ns);
        }
        let profile = profile(base.clone(), &measured, &kernels);
        assert_eq!((profile.cta_floor_ns, profile.thread_bytes_per_us), (1, Some(5)));
        let host = HostLatencies {
            launch_ns: 2,
            synchronise_ns: 10,
            event_wait_ns: 11,
            stream_gap_ns: 12,
            graph_node_ns: 4,
            graph_launch_ns: 13,
            graph_edge_ns: 14,
            notice_ns: 15,
            ..base.host
        };
        assert_eq!(profile.host, host);
        let streams = Costs {
            launch_ns: 2,
            early_launch_ns: 16,
            other_launch_ns: 3,
            busy_launch_ns: 17,
            record_ns: 18,
            wait_ns: 19,
            gap_ns: 12,
            early_gap_ns: 20,
            cross_ns: 21,
            chain_launch_ns: 22,
            chain_gap_ns: 14,
        };
        assert_eq!(profile.streams, Some(streams));
    }
}
