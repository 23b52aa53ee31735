//! The device alone: SM limits, sharing, dispatch order, jumps; and the profiles.

mod common;

use common::{cosim, fails, kernel, model, profile, scheduler, stream};
use proptest::prelude::*;
use windlass_cosim::device::dispatcher::Dispatcher;
use windlass_cosim::device::work::UNITS_PER_CYCLE;
use windlass_cosim::device::{Completion, CtaEnd, CtaWork, Device, DeviceError, SmArray};
use windlass_cosim::partition::{ALL_SMS, Partitions};
use windlass_cosim::profile::{Profile, ProfileError};
use windlass_cosim::real;
use windlass_rtl::front_end::CtaType;
use windlass_rtl::params::WindowKind;
use windlass_runtime::ktrace::{Kernel, KernelType};

/// CTAs of `cycles` cycles of work on their type's pipe, for COPY that to memory, with `warps` warps and nothing else of note.
fn work(kind: KernelType, ctas: u64, cycles: u64, warps: u32) -> CtaWork {
    let units = cycles * UNITS_PER_CYCLE;
    let (compute, memory) = if kind == KernelType::Copy { (0, units) } else { (units, 0) };
    CtaWork { kind, ctas, needs: [1, warps, warps * 32, 0, 0], compute, memory, floor: 1, partition: ALL_SMS }
}

fn one_sm() -> Profile {
    Profile { sms: 1, ..profile() }
}

/// Offers the kernels in order, as soon as the device takes them; jumps. Completions by kernel.
fn run(profile: &Profile, works: Vec<CtaWork>) -> (Vec<u64>, Device) {
    let n = works.len();
    let mut device = Device::new(profile, Partitions::default(), works);
    device.record();
    let mut ends = vec![0; n];
    let mut next = 0;
    loop {
        if next < n && device.offer(next) {
            next += 1;
        }
        match device.next_event() {
            Some(cycle) => device.advance(cycle),
            None => return (ends, device),
        }
        for Completion { kernel, cycle } in device.take_completions() {
            ends[kernel] = cycle;
        }
    }
}

#[test]
fn a_kernel_offered_in_cycle_0_runs_from_cycle_1() {
    let (ends, device) = run(&one_sm(), vec![work(KernelType::Simt, 1, 100, 1)]);
    assert_eq!((device.spans()[0].start, device.spans()[0].end), (1, 101));
    assert_eq!(ends, [101]);
}

#[test]
fn independent_kernels_overlap_on_different_sms() {
    let (ends, _) =
        run(&profile(), vec![work(KernelType::Simt, 1, 100, 1), work(KernelType::Simt, 1, 100, 1)]);
    assert_eq!(ends, [101, 102]);
}

#[test]
fn two_ctas_of_one_type_on_one_sm_run_at_half_the_rate() {
    // The first is alone for one cycle. Then each has half: 99 cycles of work take 198, and the second's last is alone again.
    let (ends, _) =
        run(&one_sm(), vec![work(KernelType::Simt, 1, 100, 1), work(KernelType::Simt, 1, 100, 1)]);
    assert_eq!(ends, [1 + 1 + 198, 1 + 200]);
}

#[test]
fn different_types_do_not_slow_each_other() {
    let kinds = [KernelType::Simt, KernelType::Tensor, KernelType::Copy];
    let (ends, _) = run(&one_sm(), kinds.map(|kind| work(kind, 1, 100, 1)).to_vec());
    assert_eq!(ends, [101, 102, 103]);
}

#[test]
fn all_types_share_the_memory() {
    let memory = |kind| CtaWork { compute: 0, memory: 300 * UNITS_PER_CYCLE, ..work(kind, 1, 0, 1) };
    let works = [KernelType::Simt, KernelType::Tensor, KernelType::Copy].map(memory);
    let (ends, device) = run(&one_sm(), works.to_vec());
    // 300 cycles each, and not one of them saved; the pipe is busy from the first CTA's first cycle on.
    // Ends are in whole cycles, so that one may be lost.
    assert_eq!(ends[2], 902);
    let memory = device.occupancy(902).memory;
    assert!((0.99..1.0).contains(&memory), "{memory}");
}

#[test]
fn computing_and_moving_go_on_at_the_same_time() {
    let both = CtaWork { memory: 70 * UNITS_PER_CYCLE, ..work(KernelType::Simt, 1, 100, 1) };
    let copy = work(KernelType::Copy, 1, 60, 1);
    // Alone, the larger of both.
    assert_eq!(run(&one_sm(), vec![both.clone()]).0, [101]);
    // The copy comes a cycle later and takes 60 of memory at half the rate; then 9 are left of the 70, and end after 130 cycles.
    assert_eq!(run(&one_sm(), vec![both, copy]).0, [131, 122]);
}

#[test]
fn the_floor_is_not_shared() {
    let light = CtaWork { compute: UNITS_PER_CYCLE, floor: 1000, ..work(KernelType::Simt, 8, 1, 1) };
    let (ends, _) = run(&one_sm(), vec![light]);
    assert_eq!(ends, [1 + 7 + 1000]);
}

#[test]
fn an_sm_holds_no_more_than_its_limits() {
    for (warps, resident) in [(1, 16), (4, 12), (16, 3), (48, 1)] {
        let (_, device) = run(&one_sm(), vec![work(KernelType::Simt, 40, 500, warps)]);
        let spans = device.spans();
        let most =
            spans.iter().map(|a| spans.iter().filter(|b| b.start <= a.start && a.start < b.end).count());
        assert_eq!(most.max(), Some(resident), "{warps} warps per CTA");
    }
}

#[test]
fn the_next_kernel_fills_up_behind_one_whose_ctas_are_all_placed() {
    let (_, device) =
        run(&one_sm(), vec![work(KernelType::Simt, 4, 500, 1), work(KernelType::Simt, 4, 500, 1)]);
    let mut starts: Vec<(u64, u32)> = device.spans().iter().map(|s| (s.start, s.kernel)).collect();
    starts.sort_unstable();
    let kernels: Vec<u32> = starts.iter().map(|(_, kernel)| *kernel).collect();
    assert_eq!(starts.iter().map(|(start, _)| *start).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(kernels, [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn the_head_of_line_blocks_smaller_kernels_behind_it() {
    let large = work(KernelType::Simt, 2, 500, 48);
    let (_, device) = run(&one_sm(), vec![large, work(KernelType::Tensor, 1, 10, 1)]);
    let small = device.spans().iter().find(|s| s.kernel == 1).expect("ran");
    assert!(small.start > 500, "started in cycle {}", small.start);
}

#[test]
fn the_dispatcher_honours_partitions() {
    let partitions = Partitions::parse("0-1,40-45", 46).expect("ranges");
    let part = |partition| CtaWork { partition, ..work(KernelType::Simt, 30, 500, 1) };
    let mut device = Device::new(&profile(), partitions, vec![part(1), part(0), part(5)]);
    device.record();
    for k in 0..3 {
        while !device.offer(k) {
            device.step();
        }
    }
    while let Some(cycle) = device.next_event() {
        device.advance(cycle);
    }
    let used = |k| {
        let mut sms: Vec<u32> = device.spans().iter().filter(|s| s.kernel == k).map(|s| s.sm).collect();
        sms.sort_unstable();
        sms.dedup();
        sms
    };
    assert_eq!(used(0), [40, 41, 42, 43, 44, 45]);
    assert_eq!(used(1), [0, 1]);
    assert_eq!(used(2).len(), 30, "a partition without a mask is all SMs");
}

#[test]
fn the_sms_alone_take_what_fits_and_say_what_ended_where() {
    let works = vec![work(KernelType::Simt, 2, 100, 30), work(KernelType::Tensor, 1, 50, 18)];
    let mut sms = SmArray::new(&profile(), Partitions::default(), works);
    sms.place(0, 7).expect("empty");
    let error = sms.place(0, 7).expect_err("30 of 48 warps are taken");
    assert_eq!((error.resource, error.needed, error.free), ("warps", 30, 18));
    sms.place(1, 7).expect("just fits");
    sms.place(0, 3).expect("empty");
    assert_eq!(sms.next_event(), Some(50));
    assert!(sms.go_to(50));
    assert_eq!(sms.take_ends(), [CtaEnd { kernel: 1, sm: 7 }]);
    assert_eq!(sms.take_completions(), [Completion { kernel: 1, cycle: 50 }]);
    assert!(sms.go_to(100));
    assert_eq!(sms.take_ends(), [CtaEnd { kernel: 0, sm: 3 }, CtaEnd { kernel: 0, sm: 7 }]);
    assert_eq!((sms.next_event(), sms.placed()), (None, 3));
    // In 100 cycles 2 of 46 SMs were busy, one of them with both types in 50.
    let occupancy = sms.occupancy(100);
    assert!((occupancy.sms - 2.0 / 46.0).abs() < 1e-12, "{occupancy:?}");
    assert!((occupancy.both_types - 0.5 / 46.0).abs() < 1e-12, "{occupancy:?}");
    assert!((occupancy.both_types_of_busy - 0.25).abs() < 1e-12, "{occupancy:?}");
}

#[test]
fn a_launch_packet_counts_in_allocation_units() {
    let mut k = kernel("k", 7, &[], &[]);
    (k.block, k.regs, k.smem, k.part) = ([33, 1, 1], Some(33), 1, Some(2));
    k.kind = KernelType::Copy;
    let launch = CtaWork::new(&profile(), &k, 0).expect("fits").launch(&profile());
    assert_eq!((launch.grid, launch.kind, launch.partition), (7, CtaType::Simt, 2));
    assert_eq!((launch.needs.warps, launch.needs.registers, launch.needs.smem), (2, 10, 9));
    (k.regs, k.part, k.kind) = (Some(0), None, KernelType::Tensor);
    let launch = CtaWork::new(&profile(), &k, 0).expect("fits").launch(&profile());
    assert_eq!((launch.needs.registers, launch.partition, launch.kind), (1, ALL_SMS, CtaType::Tensor));
}

#[test]
fn every_embedded_profile_can_be_counted_by_the_hardware_and_others_name_the_field() {
    for name in Profile::names() {
        let profile = Profile::load(name).expect("embedded");
        let sms = profile.sm_params().expect("within the hardware's widths");
        assert_eq!(sms.sms(), profile.sms as usize);
        assert_eq!(u32::from(sms.limits().smem()) * profile.sm.smem_unit, profile.sm.smem_bytes);
    }
    type Spoil = fn(&mut Profile);
    let wrong: [(&str, Spoil); 6] = [
        ("`sms` is 193", |p| p.sms = 193),
        ("`sm.ctas` is 33", |p| p.sm.ctas = 33),
        ("`sm.warps` is 65", |p| (p.sm.warps, p.sm.threads) = (65, 65 * 32)),
        ("`sm.threads` is 1535", |p| p.sm.threads = 1535),
        ("`sm.registers` is 65536", |p| p.sm.register_unit = 128),
        ("`sm.smem_bytes` is 300000", |p| p.sm.smem_bytes = 300_000),
    ];
    for (words, spoil) in wrong {
        let mut profile = profile();
        spoil(&mut profile);
        let error = profile.sm_params().expect_err(words).to_string();
        assert!(error.contains(words) && error.contains("rtx3070"), "{error}");
    }
}

#[test]
fn the_dispatcher_goes_round() {
    let mut dispatcher = Dispatcher::new(4);
    dispatcher.take(7, 6);
    let mut sms = Vec::new();
    while let Some(placed) = dispatcher.place(|sm| sm != 2) {
        assert_eq!(placed.kernel, 7);
        assert_eq!(placed.last, sms.len() == 5);
        sms.push(placed.sm);
    }
    assert_eq!(sms, [0, 1, 3, 0, 1, 3]);
    assert!(dispatcher.head().is_none());
}

#[test]
fn resources_return_and_are_counted() {
    let (ends, device) = run(&profile(), vec![work(KernelType::Simt, 1000, 50, 3)]);
    assert!(device.resident().iter().all(|ctas| *ctas == 0));
    assert_eq!(device.placed(), 1000);
    let occupancy = device.occupancy(ends[0]);
    assert!(occupancy.sms > 0.9 && occupancy.sms <= 1.0, "{occupancy:?}");
}

#[test]
fn needs_are_rounded_to_the_allocation_units() {
    let mut k = kernel("k", 1, &[], &[]);
    (k.block, k.regs, k.smem) = ([33, 1, 1], Some(33), 1);
    let work = CtaWork::new(&profile(), &k, 0).expect("fits");
    // 2 warps of 33 * 32 = 1056 registers, rounded to 1280; 1 KB and one byte of shared memory, rounded to 128.
    assert_eq!(work.needs, [1, 2, 33, 2560, 1152]);
}

#[test]
fn traffic_takes_the_place_of_the_segments_bytes() {
    let works = |bytes: u64, traffic: Option<u64>| {
        let mut k = kernel("gather", 8, &[0], &[1 << 40]);
        k.reads.iter_mut().chain(&mut k.writes).for_each(|segment| segment.bytes = bytes);
        k.traffic = traffic;
        CtaWork::new(&profile(), &k, 0).expect("fits").memory
    };
    assert_eq!(works(1 << 30, Some(2 << 20)), works(1 << 20, None));
    assert_eq!(works(1 << 20, Some(2 << 30)), works(1 << 30, None));
    assert_eq!(works(1 << 30, Some(0)), 0);
}

#[test]
fn a_cta_that_fits_nowhere_names_kernel_and_resource() {
    let mut k = kernel("huge", 1, &[], &[]);
    k.smem = 200_000;
    let error = CtaWork::new(&profile(), &k, 5).expect_err("too large").to_string();
    assert!(error.contains("kernel 5 `huge`") && error.contains("shared memory"), "{error}");
    k.smem = 0;
    k.regs = Some(255);
    k.block = [1024, 1, 1];
    let error = CtaWork::new(&profile(), &k, 5).expect_err("too large").to_string();
    assert!(error.contains("registers"), "{error}");
    k.block = [u32::MAX; 3];
    let error = CtaWork::new(&profile(), &k, 5).expect_err("too large");
    assert!(matches!(error, DeviceError::TooManyThreads { most: 1024, .. }), "{error}");
    k.block = [32, 1, 1];
    k.grid = [u32::MAX; 3];
    assert!(matches!(CtaWork::new(&profile(), &k, 5), Err(DeviceError::TooManyCtas { .. })));
    k.grid = [1; 3];
    k.dur_ns = Some(u64::MAX);
    assert!(matches!(CtaWork::new(&profile(), &k, 5), Err(DeviceError::TooLong { .. })));
}

#[test]
fn flops_and_bytes_are_work_of_two_pipes() {
    let profile = profile();
    let mut k = kernel("k", 10, &[], &[]);
    k.flops = 10 * 256 * 7000;
    let cycles = |k: &Kernel| {
        let work = CtaWork::new(&profile, k, 0).expect("fits");
        [work.compute, work.memory].map(|units| units / UNITS_PER_CYCLE)
    };
    assert_eq!(cycles(&k), [7000, 0]);
    k.kind = KernelType::Tensor;
    assert_eq!(cycles(&k), [3500, 0]);
    k.kind = KernelType::Copy;
    assert_eq!(cycles(&k), [0, 0]);
    // All SMs together move 448 GB/s: 448 bytes in a nanosecond, 1.725 cycles.
    k.grid = [46, 1, 1];
    k.reads = vec![windlass_runtime::ktrace::Segment { addr: 0, bytes: 448_000 }];
    assert_eq!(cycles(&k), [0, 1725]);
    k.kind = KernelType::Simt;
    k.flops = 46 * 256 * 7000;
    assert_eq!(cycles(&k), [7000, 1725]);
    assert_eq!(CtaWork::new(&profile, &k, 0).expect("fits").cycles(2), 14000);
}

#[test]
fn a_thread_moves_its_bytes_no_faster_than_it_can() {
    let free = profile();
    let mut bound = free.clone();
    bound.thread_bytes_per_us = Some(25);
    let mut k = kernel("k", 2, &[0], &[]);
    // Of 256 threads, each a hundred bytes: four microseconds, and what a CTA takes anyway.
    k.reads[0].bytes = 25_600;
    let work = |profile: &Profile, k: &Kernel| CtaWork::new(profile, k, 0).expect("fits");
    let floor = |ns: u64| free.cycles(free.cta_floor_ns + ns);
    assert_eq!((work(&free, &k).floor, work(&bound, &k).floor), (floor(0), floor(4000)));
    assert_eq!(CtaWork { floor: floor(0), ..work(&bound, &k) }, work(&free, &k), "nothing else changes");
    // The CTAs of an SM do not wait for each other's; more threads have less each.
    assert_eq!(work(&bound, &k).cycles(2), floor(4000));
    k.grid = [8, 1, 1];
    assert_eq!(work(&bound, &k).floor, floor(1000));
    k.block = [32, 1, 1];
    assert_eq!(work(&bound, &k).floor, floor(4000));
    // A duration that was measured has it in it.
    k.dur_ns = Some(700);
    assert_eq!(work(&bound, &k), work(&free, &k));
    // The profile's file has it, or not.
    let text = toml::to_string(&bound).expect("TOML");
    assert!(text.contains("thread_bytes_per_us = 25\n"));
    assert!(!toml::to_string(&free).expect("TOML").contains("thread_bytes_per_us"));
}

#[test]
fn a_measured_kernel_alone_takes_its_duration() {
    let profile = profile();
    for (ctas, flops) in [(1, 0), (46, 1 << 30), (47, 0), (300, 1 << 20), (2000, 1 << 34), (5000, 0)] {
        let mut k = kernel("k", ctas, &[0], &[1]);
        (k.dur_ns, k.flops) = (Some(100_000), flops);
        let work = CtaWork::new(&profile, &k, 0).expect("fits");
        let (ends, _) = run(&profile, vec![work]);
        let wanted = profile.cycles(100_000);
        // Placing takes a cycle per CTA; beyond that, one percent.
        let (least, most) = (wanted - wanted / 100, wanted + u64::from(ctas) + wanted / 100);
        assert!((least..=most).contains(&ends[0]), "{ctas} CTAs: {} instead of {wanted}", ends[0]);
    }
}

#[test]
fn ctas_take_their_time_whatever_clock_it_is_counted_in() {
    let profile = profile();
    assert_eq!(profile.counted_at(profile.clock_mhz), profile);
    let mut slow = profile.clone();
    slow.pipes.simt_flop_per_clk = 1;
    let cases =
        [profile, slow].into_iter().flat_map(|p| [100, 135, 435, 1724, 5000].map(|mhz| (p.clone(), mhz)));
    for (profile, mhz) in cases {
        let counted = profile.counted_at(mhz);
        for (kind, flops, bytes, dur_ns) in [
            (KernelType::Simt, 0, 0, None),
            (KernelType::Simt, 1 << 28, 0, None),
            (KernelType::Tensor, 1 << 32, 0, None),
            (KernelType::Copy, 0, 1 << 22, None),
            (KernelType::Simt, 1 << 20, 1 << 20, Some(70_000)),
        ] {
            let mut k = kernel("k", 46, &[0], &[1]);
            (k.kind, k.flops, k.traffic, k.dur_ns) = (kind, flops, Some(bytes), dur_ns);
            for together in [1, 3] {
                let ns = |profile: &Profile| {
                    1e3 * profile.micros(CtaWork::new(profile, &k, 0).expect("fits").cycles(together))
                };
                let (usual, now) = (ns(&profile), ns(&counted));
                // To whole cycles of either clock.
                let rounding = 1e3 / f64::from(mhz.min(profile.clock_mhz));
                assert!((usual - now).abs() <= rounding, "{mhz} MHz, {kind:?}: {usual} and {now} ns");
            }
        }
    }
}

proptest! {
    /// Stepping cycle by cycle and jumping from event to event see the same CTAs at the same times.
    #[test]
    fn stepping_and_jumping_are_the_same(
        kernels in prop::collection::vec((0..3usize, 1..120u64, 0..4000u64, 0..4000u64, 1..9u32, 1..900u64), 1..12),
        sms in 1..6u32,
    ) {
        let kinds = [KernelType::Simt, KernelType::Tensor, KernelType::Copy];
        let tenths = |n: u64| n * (UNITS_PER_CYCLE / 10) + n % 7;
        let profile = Profile { sms, ..profile() };
        let works: Vec<CtaWork> = kernels
            .iter()
            .map(|(kind, ctas, compute, memory, warps, floor)| CtaWork {
                compute: tenths(*compute),
                memory: tenths(*memory),
                floor: *floor,
                ..work(kinds[*kind], *ctas, 0, *warps)
            })
            .collect();
        let (ends, jumped) = run(&profile, works.clone());
        let mut device = Device::new(&profile, Partitions::default(), works.clone());
        device.record();
        let mut next = 0;
        let mut stepped = vec![0; works.len()];
        while device.now() < jumped.now() {
            if next < works.len() && device.offer(next) {
                next += 1;
            }
            device.step();
            for Completion { kernel, cycle } in device.take_completions() {
                stepped[kernel] = cycle;
            }
        }
        prop_assert_eq!(stepped, ends);
        prop_assert_eq!(device.spans(), jumped.spans());
        prop_assert_eq!(device.occupancy(device.now()), jumped.occupancy(jumped.now()));
        prop_assert_eq!(device.placed(), works.iter().map(|w| w.ctas).sum::<u64>());
        prop_assert_eq!(device.next_event(), None);
    }
}

#[test]
fn every_embedded_profile_loads_under_its_name() {
    for name in Profile::names() {
        let profile = Profile::load(name).expect("embedded");
        assert_eq!(profile.name, name);
        assert_eq!(profile.sm.threads, profile.sm.warps * 32);
    }
    assert_eq!(Profile::names().len(), 6);
}

#[test]
fn a_gpu_is_known_by_what_people_and_drivers_call_it() {
    let name = |gpu: &str| Profile::of_gpu(gpu).map(|profile| profile.name);
    for (gpu, expected) in [
        ("rtx3070", "rtx3070"),
        ("RTX 3070", "rtx3070"),
        ("rtx-3070", "rtx3070"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA H100 80GB HBM3, 8 streams", "h100"),
        ("H200", "h200"),
    ] {
        assert_eq!(name(gpu).as_deref(), Some(expected), "{gpu}");
        assert!(Profile::load(expected).unwrap().is_of(gpu), "{gpu}");
    }
    for other in [
        "RTX 3070 Ti",
        "NVIDIA GeForce RTX 3070 Laptop GPU",
        "NVIDIA H100 PCIe",
        "assumed",
        "",
        ", ",
        "cpu, 4 threads",
    ] {
        assert_eq!(name(other), None, "{other}");
    }
    let calibrated = Profile { name: "h100-calibrated".into(), ..Profile::load("h100").unwrap() };
    assert!(calibrated.is_of("H100") && !calibrated.is_of("h200"));
}

#[test]
fn an_unknown_profile_lists_the_possible_ones() {
    let error = Profile::load("rtx9999").expect_err("unknown").to_string();
    assert!(
        error.contains("rtx9999") && error.contains("rtx3060, rtx3070, rtx4090, a100, h100, h200"),
        "{error}"
    );
    let error = Profile::load("missing.toml").expect_err("missing").to_string();
    assert!(error.contains("missing.toml"), "{error}");
}

#[test]
fn a_profile_error_names_file_and_field() {
    let text = include_str!("../profiles/rtx3070.toml");
    let check = |from: &str, to: &str, expected: &[&str]| {
        assert!(text.contains(from), "{from}");
        let error = Profile::parse(&text.replacen(from, to, 1), "mine.toml").expect_err(to).to_string();
        for part in expected {
            assert!(error.contains(part), "{error}");
        }
    };
    let line = |part: &str| text.lines().position(|l| l.starts_with(part)).unwrap() + 1;
    let at = |part: &str| format!("mine.toml:{}: ", line(part));
    check("sms = 46", "sms = 0", &[&at("sms"), "`sms` is 0, but must be 1 to 1024"]);
    check("sms = 46", "", &["mine.toml:1: `sms` is missing; add it: 1 to 1024"]);
    check(
        "sms = 46",
        "sms = \"many\"",
        &[&at("sms"), "`sms` is \"many\", but must be a whole number, 1 to 1024"],
    );
    check(
        "warps = 48",
        "warp = 48",
        &[&at("warps"), "`sm.warp` is not a field here", "`sm.warps` is missing"],
    );
    check(
        "launch_ns = 2500",
        "launch_ns = 99999999999",
        &[&at("launch_ns"), "`host.launch_ns` is 99999999999"],
    );
    check("[sm]", "[sm", &[&at("[sm]"), "a profile is a TOML file"]);
    check("[sm]", "sm = 3\n[other]", &["`sm` is 3, but must be a table", "`other` is not a field here"]);
}

#[test]
fn a_profile_in_memory_is_checked_as_one_in_a_file() {
    let mut profile = Profile::load("rtx3070").unwrap();
    (profile.clock_mhz, profile.host.notice_ns) = (0, u64::MAX);
    let Err(ProfileError::Fields(errors)) = profile.check("mine") else { panic!("two numbers are wrong") };
    assert_eq!(errors.iter().map(|e| e.field.as_str()).collect::<Vec<_>>(), ["clock_mhz", "host.notice_ns"]);
}

#[test]
fn nothing_runs_on_a_profile_that_cannot_work() {
    let stream = stream(vec![kernel("k", 1, &[], &[0])]);
    for (field, set) in [
        ("sms", (|p| p.sms = 0) as fn(&mut Profile)),
        ("clock_mhz", |p| p.clock_mhz = 0),
        ("sm.register_unit", |p| p.sm.register_unit = 0),
        ("pipes.simt_flop_per_clk", |p| p.pipes.simt_flop_per_clk = 0),
        ("host.launch_ns", |p| p.host.launch_ns = u64::MAX),
    ] {
        let mut cosim = cosim(scheduler(WindowKind::Matrix, 4));
        set(&mut cosim.profile);
        let error = fails(&cosim, &stream, model).to_string();
        assert!(error.contains(&format!("`{field}`")), "{error}");
        let error = real::program(&stream, &cosim.profile, 1).unwrap_err().to_string();
        assert!(error.contains(&format!("`{field}`")), "{error}");
    }
}

#[test]
fn nanoseconds_become_cycles_rounded_up() {
    let profile = profile();
    assert_eq!([0, 1, 1000].map(|ns| profile.cycles(ns)), [0, 2, 1725]);
    assert!((profile.micros(1725) - 1.0).abs() < 1e-12);
}

#[test]
fn a_gpu_has_the_profile_that_its_name_names() {
    for (device, profile) in [
        ("NVIDIA H100 80GB HBM3", Some("h100")),
        ("cuda:0 (NVIDIA H100 PCIe, sm_90)", Some("h100")),
        ("NVIDIA A100-SXM4-40GB", Some("a100")),
        ("NVIDIA GeForce RTX 3070 Ti", Some("rtx3070")),
        ("NVIDIA H200", Some("h200")),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA B200", None),
        ("", None),
    ] {
        assert_eq!(Profile::of_device(device), profile, "{device}");
    }
}
