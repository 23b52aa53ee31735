//! The generated scheduler decides the order of kernels that really run: the image must be the serial one, and must not be where the scheduler,
//! or what it is told, is wrong.

#[path = "../../sw-runtime/tests/common/programs.rs"]
mod programs;

use programs::{Random, program, seed};
use std::sync::Arc;
use windlass_cosim::decider::SchedulerDecider;
use windlass_cosim::engine::DispatcherKind;
use windlass_rtl::params::{Encoding, SchedulerParams, WindowKind};
use windlass_runtime::host::{self, Packet, Upstream};
use windlass_runtime::ktrace::{Kernel, Segment};
use windlass_runtime::run::{
    ChanceDevice, CpuDevice, CpuOptions, Decider, Decision, Declarations, Device, Options, Policy, Program,
    RunError, Runner, Work,
};

const IDS: Encoding = Encoding::Ids { lanes: 4 };

fn params(
    kind: WindowKind,
    slots: usize,
    ports: usize,
    scheduled: usize,
    encoding: Encoding,
) -> SchedulerParams {
    SchedulerParams::new(kind, slots, ports, scheduled, encoding).unwrap_or_else(|e| panic!("{e}"))
}

/// Every kind and encoding at these sizes, with and without the pipeline stage.
fn all(slots: &[usize]) -> Vec<SchedulerParams> {
    let mut all = Vec::new();
    for slots in slots {
        for ports in 1..=4 {
            for encoding in [Encoding::Ids { lanes: 1 }, IDS, Encoding::Mask] {
                // A list that is always near its end, and one that never is.
                for scheduled in [8, 128] {
                    let matrix = params(WindowKind::Matrix, *slots, ports, scheduled, encoding);
                    all.extend([matrix, params(WindowKind::List, *slots, ports, scheduled, encoding)]);
                    all.extend(matrix.with_pipeline(true));
                }
            }
        }
    }
    all
}

fn decider(kind: DispatcherKind, params: SchedulerParams) -> SchedulerDecider {
    SchedulerDecider::new(kind, params, None).unwrap_or_else(|e| panic!("{params:?}: {e}"))
}

fn run(
    device: &dyn Device,
    program: &Program,
    declared: &Declarations,
    decider: &mut dyn Decider,
) -> Result<(), RunError> {
    let mut runner = Runner::new(device, program, declared, Options::default())?;
    runner.run(Policy::Window, Some(decider)).map(drop)
}

/// Most kernels that ran at the same time.
fn together(device: &dyn Device) -> usize {
    let times = device.times().unwrap_or_else(|e| panic!("{e}"));
    let at = |moment| times.iter().filter(|t| t.start <= moment && moment < t.end).count();
    times.iter().map(|t| at(t.start)).max().unwrap_or(0)
}

/// One run on a device of chance, which must leave the serial image; the most kernels that ran at the same time.
fn right(random: &mut Random, count: usize, streams: u32, decider: &mut SchedulerDecider) -> usize {
    let program = program(random, count);
    let device = ChanceDevice::new(program.clone(), streams, random.next()).unwrap();
    let what = format!("{}, {streams} streams", decider.name());
    let result = run(&device, &program, &Declarations::new(&program), decider);
    result.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(device.image() == program.serial_image(), "{what}: not the serial image");
    together(&device)
}

#[test]
fn every_scheduler_leaves_the_serial_image_whatever_the_device_does() {
    let mut random = Random(seed());
    let mut most = 0;
    for params in all(&[4, 8, 32]) {
        let mut decider = decider(DispatcherKind::Behavioural, params);
        // The same decider again and again: nothing may be left of the run before.
        for _ in 0..2 {
            let (count, streams) = (1 + random.below(120) as usize, 1 + random.below(9) as u32);
            let together = right(&mut random, count, streams, &mut decider);
            assert!(together <= streams as usize && together <= params.window().slots(), "{params:?}");
            most = most.max(together);
        }
    }
    assert!(most >= 4, "at most {most} kernels at the same time");
}

/// More kernels than there are ids.
#[test]
fn ids_come_round() {
    let mut random = Random(seed());
    for params in [
        params(WindowKind::Matrix, 32, 2, 255, IDS),
        params(WindowKind::List, 8, 1, 255, Encoding::Mask),
        params(WindowKind::List, 32, 4, 8, IDS),
    ] {
        right(&mut random, 900, 8, &mut decider(DispatcherKind::Behavioural, params));
    }
}

fn kernel(reads: u64, writes: u64) -> Kernel {
    let word = |n| vec![Segment { addr: 4096 + 4 * n, bytes: 4 }];
    let any = programs::kernels(&mut Random(1), 1).remove(0);
    Kernel { grid: [1, 1, 1], reads: word(reads), writes: word(writes), ..any }
}

/// The first kernel takes long, the second waits for it, and while both are there the ids of all others are used up.
#[test]
fn an_id_is_not_given_again_before_its_kernel_has_ended() {
    let mut kernels = vec![kernel(1000, 1001), kernel(1001, 1002)];
    kernels.extend((0..400).map(|k| kernel(k, 500 + k)));
    let mut work = vec![Work::default(); kernels.len()];
    work[0].cta_ns = 1_000_000_000;
    let program = Arc::new(Program::new("ids", &[&kernels], &work, 1).unwrap_or_else(|e| panic!("{e}")));
    let options = CpuOptions { threads: 2, streams: 4, ..CpuOptions::default() };
    let device = CpuDevice::new(program.clone(), options).unwrap_or_else(|e| panic!("{e}"));
    for scheduled in [254, 255] {
        let params = params(WindowKind::Matrix, 8, 2, scheduled, IDS);
        let mut decider = decider(DispatcherKind::Behavioural, params);
        let result = run(&device, &program, &Declarations::new(&program), &mut decider);
        result.unwrap_or_else(|e| panic!("{params:?}: {e}"));
        assert!(device.image() == program.serial_image(), "{params:?}: not the serial image");
    }
}

#[test]
fn threads_leave_the_serial_image() {
    let mut random = Random(seed());
    for params in all(&[8]) {
        let count = 1 + random.below(60) as usize;
        let program = program(&mut random, count);
        let options = CpuOptions { threads: 2, streams: 1 + random.below(6) as u32, ..CpuOptions::default() };
        let device = CpuDevice::new(program.clone(), options).unwrap_or_else(|e| panic!("{e}"));
        let mut decider = decider(DispatcherKind::Behavioural, params);
        let result = run(&device, &program, &Declarations::new(&program), &mut decider);
        result.unwrap_or_else(|e| panic!("{params:?}: {e}"));
        assert!(device.image() == program.serial_image(), "{params:?}: not the serial image");
    }
}

/// The Verilog, alone and beside its model; small windows, for each is compiled.
#[test]
fn verilog_leaves_the_serial_image() {
    let mut random = Random(seed());
    let pipelined = params(WindowKind::Matrix, 4, 1, 32, Encoding::Mask).with_pipeline(true);
    for params in [
        params(WindowKind::Matrix, 8, 2, 128, IDS),
        params(WindowKind::List, 4, 2, 128, IDS),
        pipelined.unwrap_or_else(|e| panic!("{e}")),
    ] {
        for kind in [DispatcherKind::Hardware, DispatcherKind::Both] {
            let mut decider = decider(kind, params);
            for _ in 0..10 {
                let (count, streams) = (1 + random.below(120) as usize, 1 + random.below(9) as u32);
                right(&mut random, count, streams, &mut decider);
            }
        }
    }
}

#[test]
fn a_forgotten_declaration_shows() {
    let mut random = Random(seed());
    let mut decider = decider(DispatcherKind::Behavioural, params(WindowKind::Matrix, 32, 2, 128, IDS));
    let mut caught = 0;
    for _ in 0..60 {
        let program = program(&mut random, 30);
        let mut declared = Declarations::new(&program);
        declared.forget(random.below(30) as usize);
        let device = ChanceDevice::new(program.clone(), 6, random.next()).unwrap();
        run(&device, &program, &declared, &mut decider).unwrap_or_else(|e| panic!("{e}"));
        caught += usize::from(device.image() != program.serial_image());
    }
    println!("{caught} of 60 forgotten declarations show");
    assert!(caught >= 15, "{caught} of 60");
}

/// What a broken decider does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Break {
    /// Does not see one upstream kernel of each packet.
    DropsUpstream,
    /// Offers its first kernel again.
    OffersTwice,
    /// Offers a kernel that nobody has sent.
    Invents,
    /// Offers nothing.
    OffersNothing,
    /// Offers nothing, and never settles.
    NeverSettles,
    /// Takes no retirement.
    RetiresNothing,
    /// Says that more have retired than were given.
    RetiresTooMany,
    /// Loses every retirement that it takes.
    LosesRetirements,
}

/// The model, with something wrong.
struct Broken {
    inner: SchedulerDecider,
    what: Break,
    first: Option<u8>,
}

impl Decider for Broken {
    fn name(&self) -> String {
        format!("{:?}", self.what)
    }

    fn encoding(&self) -> host::Encoding {
        self.inner.encoding()
    }

    fn scheduled(&self) -> usize {
        self.inner.scheduled()
    }

    fn reset(&mut self) -> Result<(), String> {
        self.first = None;
        self.inner.reset()
    }

    fn step(&mut self, packet: Option<&Packet>, retired: &[u8], ready: bool) -> Result<Decision, String> {
        let mut packet = packet.cloned();
        if let Some(packet) = packet.as_mut().filter(|_| self.what == Break::DropsUpstream) {
            match &mut packet.upstream {
                Upstream::Ids(ids) => drop(ids.pop()),
                Upstream::Mask(mask) => {
                    if let Some(word) = mask.iter_mut().find(|w| **w != 0) {
                        *word &= *word - 1;
                    }
                }
            }
        }
        let ready = ready && !matches!(self.what, Break::OffersNothing | Break::NeverSettles);
        let seen = match self.what {
            Break::RetiresNothing | Break::LosesRetirements => &[],
            _ => retired,
        };
        let mut decision = self.inner.step(packet.as_ref(), seen, ready)?;
        match self.what {
            Break::OffersTwice if ready && decision.started.is_none() => decision.started = self.first,
            Break::Invents if ready => decision.started = decision.started.map(|id| id.wrapping_add(100)),
            Break::NeverSettles => decision.settled = false,
            Break::RetiresTooMany => decision.retired += 1,
            Break::LosesRetirements => decision.retired = retired.len(),
            _ => {}
        }
        self.first = self.first.or(decision.started);
        Ok(decision)
    }
}

/// What came of it, on programs of enough kernels to fill the window.
fn outcomes(what: Break, params: SchedulerParams, random: &mut Random) -> Vec<Result<bool, RunError>> {
    let inner = decider(DispatcherKind::Behavioural, params);
    let mut decider = Broken { inner, what, first: None };
    (0..20)
        .map(|_| {
            let program = program(random, 60);
            let device = ChanceDevice::new(program.clone(), 6, random.next()).unwrap();
            run(&device, &program, &Declarations::new(&program), &mut decider)?;
            Ok(device.image() == program.serial_image())
        })
        .collect()
}

#[test]
fn a_decider_that_is_wrong_is_noticed() {
    let mut random = Random(seed());
    for encoding in [IDS, Encoding::Mask] {
        let params = params(WindowKind::Matrix, 8, 2, 128, encoding);
        // What was dropped may have ended in time.
        let wrong = outcomes(Break::DropsUpstream, params, &mut random);
        let early = |o: &Result<bool, RunError>| matches!(o, Err(RunError::Decider(e)) if e.contains("which that one waits for"));
        let noticed = wrong.iter().filter(|o| early(o)).count();
        println!("{encoding:?}: {noticed} of 20 dropped upstream kernels are noticed");
        assert!(noticed >= 15 && wrong.iter().all(|o| early(o) || matches!(o, Ok(true))), "{wrong:?}");

        for what in [Break::OffersTwice, Break::Invents] {
            let wrong = outcomes(what, params, &mut random);
            let said = |o: &Result<bool, RunError>| matches!(o, Err(RunError::Decider(e)) if e.contains("which no kernel that waits has"));
            assert!(wrong.iter().all(said), "{what:?}: {wrong:?}");
        }
        for what in
            [Break::OffersNothing, Break::NeverSettles, Break::RetiresNothing, Break::LosesRetirements]
        {
            let wrong = outcomes(what, params, &mut random);
            let stuck = |o: &Result<bool, RunError>| matches!(o, Err(RunError::Stuck { left }) if *left > 0);
            assert!(wrong.iter().all(stuck), "{what:?}: {wrong:?}");
        }
        // Says too much, and does the right thing.
        let right = outcomes(Break::RetiresTooMany, params, &mut random);
        assert!(right.iter().all(|o| matches!(o, Ok(true))), "{right:?}");
    }
}

#[test]
fn kernels_that_share_nothing_overlap_and_the_others_do_not() {
    // Two chains; each kernel takes longer than a processor is given at a time, also where others want it.
    let kernels: Vec<Kernel> = (0..6).map(|k| kernel(k % 2, k % 2)).collect();
    let work = vec![Work { cta_ns: 30_000_000, ..Work::default() }; 6];
    let program = Arc::new(Program::new("chains", &[&kernels], &work, 1).unwrap_or_else(|e| panic!("{e}")));
    let options = CpuOptions { threads: 2, streams: 4, ..CpuOptions::default() };
    let device = CpuDevice::new(program.clone(), options).unwrap_or_else(|e| panic!("{e}"));
    for params in [params(WindowKind::Matrix, 8, 2, 128, IDS), params(WindowKind::List, 8, 2, 128, IDS)] {
        let mut decider = decider(DispatcherKind::Behavioural, params);
        let result = run(&device, &program, &Declarations::new(&program), &mut decider);
        result.unwrap_or_else(|e| panic!("{params:?}: {e}"));
        assert_eq!(together(&device), 2, "{params:?}");
        let times = device.times().unwrap_or_default();
        for chain in 0..2 {
            let chain: Vec<_> = times.iter().skip(chain).step_by(2).collect();
            assert!(chain.windows(2).all(|w| w[0].end <= w[1].start), "{params:?}: {chain:?}");
        }
    }
}
