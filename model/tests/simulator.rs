//! A simulator of a GPU around the front end: random kernels on SMs whose CTAs take a random time.

use std::collections::{BTreeMap, HashMap};
use windlass_model::params::{ArbiterKind, Encoding, SchedulerParams, SmLimits, SmParams, WindowKind};
use windlass_model::{CtaNeeds, CtaType, Error, FrontEnd, FrontEndParams, Kernel, Segment};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % n.max(1)
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

fn params(random: &mut Random) -> FrontEndParams {
    let encoding = match random.below(2) {
        0 => Encoding::Mask,
        _ => Encoding::Ids { lanes: 1 + random.below(8) as usize },
    };
    let kind = random.one_of(&[WindowKind::Matrix, WindowKind::List]);
    let scheduled = random.one_of(&[32, 128]);
    let slots = random.one_of(&[4, 8, 32]);
    let scheduler =
        SchedulerParams::new(kind, slots, 1 + random.below(4) as usize, scheduled, encoding).unwrap();
    let scheduler = scheduler.with_pipeline(kind == WindowKind::Matrix && random.below(2) == 0).unwrap();
    let limits = random.one_of(&[SmLimits::H100, SmLimits::new(4, 8, 16, 16).unwrap()]);
    let sms =
        SmParams::new(random.one_of(&[8, 16, 46, 132]), limits).unwrap().with_hold(random.below(3) == 0);
    let arbiter = match random.below(2) {
        0 => ArbiterKind::Single,
        _ => ArbiterKind::Typed { active: random.one_of(&[1, 2, 4]) },
    };
    FrontEndParams::new(scheduler, arbiter, sms).unwrap().with_places(random.one_of(&[1, 2])).unwrap()
}

struct Sent {
    kernel: Kernel,
    /// Which earlier ones it waits for.
    upstream: Vec<usize>,
    placed: Vec<bool>,
    running: u32,
    retired: bool,
}

fn overlap(a: &[Segment], b: &[Segment]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.addr < b.addr + b.bytes && b.addr < a.addr + a.bytes))
}

/// Kernels in, and what comes out against what program order, SMs and partitions allow.
fn simulate(seed: u64) -> (u64, u64) {
    let mut random = Random(seed);
    let params = params(&mut random);
    let sms = params.dispatch().sms();
    let limits = sms.limits();
    let places = params.dispatch().places();
    let count = if params.dispatch().slots() > 8 { 150 } else { 60 };
    let mut front_end = FrontEnd::new(params).unwrap();
    let half = sms.sms() as u8 / 2;
    front_end.partition(1, |sm| sm < half).unwrap();
    front_end.partition(2, |sm| sm >= half).unwrap();
    let mut sent: Vec<Sent> = Vec::new();
    let mut memory: Vec<[Vec<Segment>; 2]> = Vec::new();
    let mut ends: BTreeMap<u64, Vec<(u8, u8)>> = BTreeMap::new();
    // By SM: CTAs, warps, registers, shared memory. By SM and slot: whose.
    let mut used: Vec<[u32; 4]> = vec![[0; 4]; sms.sms()];
    let mut whose: HashMap<(u8, u8), usize> = HashMap::new();
    let mut ctas = 0;
    while sent.len() < count || !front_end.is_idle() {
        let now = front_end.cycles();
        assert!(now < 200_000, "seed {seed}: nothing comes any more");
        while sent.len() < count && random.below(3) == 0 {
            let segments = |random: &mut Random, most| -> Vec<Segment> {
                let one = |random: &mut Random| Segment {
                    addr: 64 * random.below(40),
                    bytes: 1 + random.below(100),
                };
                (0..random.below(most)).map(|_| one(random)).collect()
            };
            let touched = [segments(&mut random, 3), segments(&mut random, 3)];
            let kernel = Kernel {
                tag: 1000 + sent.len() as u64,
                grid: if random.below(20) == 0 { 0 } else { 1 + random.below(40) as u32 },
                kind: random.one_of(&[CtaType::Simt, CtaType::Tensor]),
                partition: random.one_of(&[0, 0, 1, 2]),
                needs: CtaNeeds {
                    warps: 1 + random.below(limits.warps().into()) as u16,
                    registers: 1 + random.below(limits.registers().into()) as u16,
                    smem: random.below(u64::from(limits.smem()) + 1) as u16,
                },
            };
            let explicit = random.below(4) == 0;
            let mut upstream: Vec<usize> = Vec::new();
            let number = if explicit {
                upstream = (0..random.below(4)).map(|_| random.below(sent.len() as u64) as usize).collect();
                upstream.retain(|u| *u < sent.len());
                let numbers: Vec<u64> = upstream.iter().map(|u| *u as u64).collect();
                memory.push(Default::default());
                front_end.launch_after(kernel, &numbers)
            } else {
                let [reads, writes] = &touched;
                for (earlier, [r, w]) in memory.iter().enumerate() {
                    if overlap(w, reads) || overlap(w, writes) || overlap(r, writes) {
                        upstream.push(earlier);
                    }
                }
                let number = front_end.launch(kernel, reads, writes);
                memory.push(touched);
                number
            };
            assert_eq!(number.unwrap(), sent.len() as u64);
            let placed = vec![false; kernel.grid as usize];
            sent.push(Sent { kernel, upstream, placed, running: 0, retired: false });
        }
        for (sm, slot) in ends.remove(&now).unwrap_or_default() {
            front_end.ended(sm, slot).unwrap();
            let kernel = &mut sent[whose[&(sm, slot)]];
            kernel.running -= 1;
            let CtaNeeds { warps, registers, smem } = kernel.kernel.needs;
            let of = &mut used[usize::from(sm)];
            for (used, by) in of.iter_mut().zip([1, warps, registers, smem]) {
                *used -= u32::from(by);
            }
        }
        let ready = if random.below(4) == 0 { random.below(256) as u8 } else { u8::MAX };
        let cycle = front_end.cycle(ready);
        for cta in &cycle.ctas {
            ctas += 1;
            let number = cta.kernel.number as usize;
            let what = format!("seed {seed}, cycle {now}: {cta:?}");
            assert!(sent[number].upstream.iter().all(|u| sent[*u].retired), "{what}: too early");
            let kernel = &mut sent[number];
            assert_eq!(cta.kernel.tag, kernel.kernel.tag, "{what}");
            assert!(
                ready >> cta.port & 1 == 1 && usize::from(cta.sm) % places == usize::from(cta.port) % places,
                "{what}"
            );
            assert!(!std::mem::replace(&mut kernel.placed[cta.index as usize], true), "{what}: twice");
            match kernel.kernel.partition {
                1 => assert!(cta.sm < half, "{what}"),
                2 => assert!(cta.sm >= half, "{what}"),
                _ => {}
            }
            kernel.running += 1;
            let CtaNeeds { warps, registers, smem } = kernel.kernel.needs;
            let of = &mut used[usize::from(cta.sm)];
            for (used, by) in of.iter_mut().zip([1, warps, registers, smem]) {
                *used += u32::from(by);
            }
            let most = [limits.ctas(), limits.warps(), limits.registers(), limits.smem()];
            assert!(of.iter().zip(most).all(|(used, most)| *used <= u32::from(most)), "{what}: no room");
            whose.insert((cta.sm, cta.slot), number);
            let most = random.one_of(&[400, 40, 40, 40, 40, 40, 40, 40]);
            let lasts = 1 + random.below(most);
            ends.entry(now + lasts).or_default().push((cta.sm, cta.slot));
        }
        for retired in &cycle.retired {
            let kernel = &mut sent[retired.number as usize];
            let done = kernel.placed.iter().all(|placed| *placed) && kernel.running == 0;
            assert!(
                done && !std::mem::replace(&mut kernel.retired, true),
                "seed {seed}, cycle {now}: {retired:?}"
            );
        }
    }
    assert!(sent.iter().all(|kernel| kernel.retired), "seed {seed}");
    assert!(used.iter().all(|used| *used == [0; 4]));
    front_end.synchronise().unwrap();
    (ctas, front_end.cycles())
}

#[test]
fn kernels_keep_their_order_and_sms_their_limits() {
    const SEED: &str = "WINDLASS_SEED";
    let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |now| now.as_nanos() as u64 % 1_000_000)
    });
    println!("seed {seed}; {SEED} takes one");
    let runs = (0..24).map(|n| simulate(seed.wrapping_add(n)));
    let (ctas, cycles) = runs.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    println!("{ctas} CTAs in {cycles} cycles of 24 front ends");
}

fn small() -> FrontEnd {
    let scheduler = SchedulerParams::new(WindowKind::Matrix, 8, 2, 32, Encoding::Ids { lanes: 4 }).unwrap();
    let sms = SmParams::new(8, SmLimits::H100).unwrap();
    FrontEnd::new(FrontEndParams::new(scheduler, ArbiterKind::Single, sms).unwrap()).unwrap()
}

/// What README and docs say of the hardware holds here: the model is the hardware's.
#[test]
fn a_freed_kernel_has_its_first_cta_four_cycles_later() {
    let mut front_end = small();
    let needs = CtaNeeds { warps: 1, registers: 1, smem: 0 };
    let kernel = Kernel { grid: 1, needs, ..Kernel::default() };
    let x = [Segment { addr: 0, bytes: 64 }];
    front_end.launch(kernel, &[], &x).unwrap();
    front_end.launch(kernel, &x, &[]).unwrap();
    let first = loop {
        if let Some(cta) = front_end.cycle(1).ctas.first() {
            break *cta;
        }
    };
    (0..50).for_each(|_| assert_eq!(front_end.cycle(1).ctas, []));
    front_end.ended(first.sm, first.slot).unwrap();
    let ended = front_end.cycles();
    while front_end.cycle(1).ctas.is_empty() {}
    assert_eq!(front_end.cycles() - 1 - ended, 4);
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let mut front_end = small();
    let needs = CtaNeeds { warps: 8, registers: 64, smem: 0 };
    let kernel = Kernel { grid: 2, needs, ..Kernel::default() };
    let refused = [
        front_end.launch(Kernel { needs: CtaNeeds { warps: 65, ..needs }, ..kernel }, &[], &[]).unwrap_err(),
        front_end
            .launch(Kernel { needs: CtaNeeds { registers: 0, ..needs }, ..kernel }, &[], &[])
            .unwrap_err(),
        front_end.launch(Kernel { partition: 8, ..kernel }, &[], &[]).unwrap_err(),
        front_end.partition(9, |_| true).unwrap_err(),
        front_end.launch_after(kernel, &[0]).unwrap_err(),
        front_end.ended(3, 0).unwrap_err(),
        front_end.ended(200, 0).unwrap_err(),
        front_end.ended(0, 200).unwrap_err(),
    ];
    let said: Vec<String> = refused.iter().map(Error::to_string).collect();
    for (said, wanted) in said.iter().zip([
        "a CTA needs 65 warps, 64 units of registers and 0 of shared memory; an SM has 64, 256 and 1824, and",
        "a CTA needs 8 warps, 0 units of registers",
        "partition 8: they are 0 to 7",
        "partition 9: they are 0 to 7",
        "kernel 0 is to be waited for, and 0 were launched so far",
        "no CTA of slot 0 runs on SM 3; say of each CTA once",
        "no CTA of slot 0 runs on SM 200",
        "no CTA of slot 200 runs on SM 0",
    ]) {
        assert!(said.starts_with(wanted), "{said}");
    }
    assert!(front_end.is_idle());
    assert_eq!(front_end.launch(kernel, &[], &[]).unwrap(), 0);
    assert_eq!(front_end.synchronise(), Err(Error::NotIdle(1)));
    let cta = loop {
        if let Some(cta) = front_end.cycle(1).ctas.first() {
            break *cta;
        }
    };
    front_end.ended(cta.sm, cta.slot).unwrap();
    assert_eq!(front_end.ended(cta.sm, cta.slot), Err(Error::NotRunning { sm: cta.sm, slot: cta.slot }));
}
