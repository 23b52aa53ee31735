//! Renaming: what the program can see of its memory is what it would have been.
//!
//! Streams run as they were, one kernel after another; and renamed, in order and in other orders that keep the hazards
//! of the new addresses. `WINDLASS_SEED` chooses other streams, and is printed; `WINDLASS_LONG=1` runs ten times as
//! many; `WINDLASS_TRACES=FOLDER` runs the traces of a folder instead of those in `workloads`.

mod common;

use common::kernel;
use std::collections::BTreeMap;
use windlass_runtime::analysis::window_speed_ups;
use windlass_runtime::graph::DependencyGraph;
use windlass_runtime::ktrace::{ADDRESS_LIMIT, Event, Kernel, Run, Segment, Trace};
use windlass_runtime::rename::{ALIGNMENT, Budget, RenameReport, Renamed, rename, temporary_bytes};

/// SplitMix64.
#[derive(Clone)]
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Below `n`, which is small.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len().max(1) as u64) as usize).copied()
    }
}

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Content of a range: byte i of it is byte `offset` + i of something called `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    at: Segment,
    value: u64,
    offset: u64,
}

/// Memory that nobody has written yet has its address for a value, so that no two bytes are the same.
const INITIAL: u64 = 0;
/// What an allocation holds when it begins, and what is left of it when it ends: nothing that a program may depend on.
const UNDEFINED: u64 = 1;

/// Memory by ranges, exact to the byte: by first address, one past the last, the value, the offset in it.
#[derive(Clone, Default)]
struct Memory(BTreeMap<u64, (u64, u64, u64)>);

impl Memory {
    fn write(&mut self, at: Segment, value: u64) {
        let (from, to) = (at.addr, at.end());
        if from == to {
            return;
        }
        let old: Vec<_> = self.0.range(..to).rev().take_while(|(_, (end, ..))| *end > from).collect();
        let old: Vec<_> = old.into_iter().map(|(start, range)| (*start, *range)).collect();
        for (start, (end, value, offset)) in old {
            self.0.remove(&start);
            if start < from {
                self.0.insert(start, (from, value, offset));
            }
            if end > to {
                self.0.insert(to, (end, value, offset + (to - start)));
            }
        }
        self.0.insert(from, (to, value, 0));
    }

    /// What is at `at`, by address; what was written in one go is one piece, however it is kept.
    fn read(&self, at: Segment) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut push = |from: u64, to: u64, value: u64, offset: u64| {
            if from == to {
                return;
            }
            match pieces.last_mut() {
                Some(p) if p.value == value && p.offset + p.at.bytes == offset => p.at.bytes += to - from,
                _ => {
                    pieces.push(Piece { at: Segment { addr: from, bytes: to - from }, value, offset });
                }
            }
        };
        let before = self.0.range(..=at.addr).next_back().map_or(at.addr, |(start, _)| *start);
        let mut from = at.addr;
        for (start, (end, value, offset)) in self.0.range(before..at.end().max(before)) {
            let (first, last) = ((*start).max(from), (*end).min(at.end()));
            if first < last {
                push(from, first, INITIAL, from);
                push(first, last, *value, offset + (first - start));
                from = last;
            }
        }
        push(from, at.end(), INITIAL, from);
        pieces
    }
}

/// What a kernel may depend on of each of its reads: of each, offsets and lengths.
type Defined = Vec<Vec<(u64, u64)>>;

/// Runs a kernel: each byte that it writes depends on the kernel, on the segment and the place in it, and on all defined
/// bytes that it reads, with their places.
fn execute(memory: &mut Memory, k: usize, kernel: &Kernel, defined: &Defined) {
    let mut digest = mix(k as u64 + 0x1234);
    for (j, (segment, defined)) in kernel.reads.iter().zip(defined).enumerate() {
        for (offset, bytes) in defined {
            for p in memory.read(Segment { addr: segment.addr + offset, bytes: *bytes }) {
                for part in [j as u64, p.at.addr - segment.addr, p.at.bytes, p.value, p.offset] {
                    digest = mix(digest.rotate_left(7) ^ part);
                }
            }
        }
    }
    for (j, segment) in kernel.writes.iter().enumerate() {
        // The lowest values have a meaning of their own.
        memory.write(*segment, mix(digest ^ (j as u64) << 32) | 1 << 63);
    }
}

/// What the host does where it waits, and finds in memory before that.
#[derive(Clone)]
struct Wait {
    /// All that the program may look at: everything but what is undefined.
    visible: Vec<Piece>,
    /// New input.
    written: (Segment, u64),
}

/// A stream run as it is. What else runs must find the same memory at each wait.
struct Serial {
    /// By kernel, in all runs.
    defined: Vec<Defined>,
    /// At each `sync`, and at the end of each run.
    waits: Vec<Wait>,
}

impl Serial {
    fn new(trace: &Trace, rng: &mut Rng) -> Self {
        let mut memory = Memory::default();
        let mut serial = Self { defined: Vec::new(), waits: Vec::new() };
        let all = Segment { addr: 0, bytes: end_of_memory(trace) };
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        let mut wait = |memory: &mut Memory| {
            let mut visible = memory.read(all);
            visible.retain(|piece| piece.value != UNDEFINED);
            let addr = rng.below(all.bytes.max(1));
            let bytes = rng.below(2 * (all.bytes - addr).min(300)).min(all.bytes - addr);
            let written = (Segment { addr, bytes }, rng.next() | 1 << 62);
            memory.write(written.0, written.1);
            Wait { visible, written }
        };
        for run in &trace.runs {
            for event in &run.events {
                match event {
                    Event::Alloc(s) => {
                        live.insert(s.addr, s.bytes);
                        memory.write(*s, UNDEFINED);
                    }
                    Event::Free(s) => {
                        if live.get(&s.addr) == Some(&s.bytes) {
                            live.remove(&s.addr);
                            memory.write(*s, UNDEFINED);
                        }
                    }
                    Event::Sync { .. } => serial.waits.push(wait(&mut memory)),
                    Event::Kernel(kernel) => {
                        let known = |s: &Segment| {
                            let pieces = memory.read(*s).into_iter().filter(|p| p.value != UNDEFINED);
                            pieces.map(|p| (p.at.addr - s.addr, p.at.bytes)).collect()
                        };
                        let defined: Defined = kernel.reads.iter().map(known).collect();
                        execute(&mut memory, serial.defined.len(), kernel, &defined);
                        serial.defined.push(defined);
                    }
                    Event::Run { .. } => {}
                }
            }
            serial.waits.push(wait(&mut memory));
        }
        serial
    }
}

/// How ready kernels are chosen.
#[derive(Clone, Copy, Debug)]
enum Order {
    Program,
    NewestFirst,
    Random,
}

/// Runs a trace in some order that keeps its hazards; the first visible piece that is not as it was one after another.
fn differs(trace: &Trace, serial: &Serial, order: Order, rng: &mut Rng) -> Option<String> {
    let mut memory = Memory::default();
    let mut waits = serial.waits.iter();
    let mut defined = serial.defined.iter();
    let mut first = 0; // the first kernel of the part, over all runs
    for run in &trace.runs {
        let mut part: Vec<&Kernel> = Vec::new();
        let end = [Event::Sync { why: String::new() }]; // as it were
        for event in run.events.iter().chain(&end) {
            match event {
                Event::Kernel(kernel) => part.push(kernel),
                Event::Sync { .. } => {
                    let here: Vec<&Defined> = defined.by_ref().take(part.len()).collect();
                    for k in schedule(&part, order, rng) {
                        execute(&mut memory, first + k, part[k], here[k]);
                    }
                    first += part.len();
                    part.clear();
                    let Wait { visible, written } = waits.next()?;
                    for piece in visible {
                        let now = memory.read(piece.at);
                        if now != [*piece] {
                            return Some(format!("{piece:?} is {now:?} after {first} kernels, {order:?}"));
                        }
                    }
                    memory.write(written.0, written.1);
                }
                _ => {}
            }
        }
    }
    None
}

fn schedule(part: &[&Kernel], order: Order, rng: &mut Rng) -> Vec<usize> {
    if let Order::Program = order {
        return (0..part.len()).collect();
    }
    let graph = DependencyGraph::build(part).unwrap();
    let mut waits_for: Vec<usize> = graph.iter().map(|(_, up)| up.len()).collect();
    let mut downstream = vec![Vec::new(); part.len()];
    for (k, up) in graph.iter() {
        up.iter().for_each(|u| downstream[*u as usize].push(k as usize));
    }
    let mut ready: Vec<usize> = (0..part.len()).filter(|k| waits_for[*k] == 0).collect();
    let mut chosen = Vec::new();
    while !ready.is_empty() {
        let at = match order {
            Order::Random => rng.below(ready.len() as u64) as usize,
            _ => (0..ready.len()).max_by_key(|at| ready[*at]).unwrap(),
        };
        let k = ready.swap_remove(at);
        chosen.push(k);
        for &d in &downstream[k] {
            waits_for[d] -= 1;
            if waits_for[d] == 0 {
                ready.push(d);
            }
        }
    }
    assert_eq!(chosen.len(), part.len());
    chosen
}

fn end_of_memory(trace: &Trace) -> u64 {
    let events = trace.runs.iter().flat_map(|run| &run.events);
    let ends = events.flat_map(|event| match event {
        Event::Kernel(k) => k.reads.iter().chain(&k.writes).map(|s| s.end()).collect(),
        Event::Alloc(s) | Event::Free(s) => vec![s.end()],
        _ => vec![],
    });
    ends.chain(trace.header.span.map(|[_, end]| end)).max().unwrap_or(0)
}

/// What must hold of the addresses alone, found without the renamer's own books.
fn check_addresses(trace: &Trace, renamed: &Renamed) -> Result<(), String> {
    let report = &renamed.report;
    let first = end_of_memory(trace).next_multiple_of(ALIGNMENT);
    let limit = report.budget_bytes.unwrap_or(u64::MAX);
    let mut used = 0;
    for (old, new) in trace.runs.iter().zip(&renamed.trace.runs) {
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        if old.events.len() != new.events.len() {
            return Err("events were lost".into());
        }
        for (old, new) in old.events.iter().zip(&new.events) {
            let (Event::Kernel(a), Event::Kernel(b)) = (old, new) else {
                if old != new {
                    return Err(format!("{old:?} became {new:?}"));
                }
                match old {
                    Event::Alloc(s) => drop(live.insert(s.addr, s.bytes)),
                    Event::Free(s) if live.get(&s.addr) == Some(&s.bytes) => drop(live.remove(&s.addr)),
                    _ => {}
                }
                continue;
            };
            let home = Kernel { reads: a.reads.clone(), writes: a.writes.clone(), ..b.clone() };
            if &home != a {
                return Err(format!("kernel {} changed but for its addresses", a.index));
            }
            let old: Vec<_> = a.reads.iter().chain(&a.writes).collect();
            let new: Vec<_> = b.reads.iter().chain(&b.writes).collect();
            if a.reads.len() != b.reads.len() || old.len() != new.len() {
                return Err(format!("kernel {} lost segments", a.index));
            }
            for (i, (a1, b1)) in old.iter().zip(&new).enumerate() {
                let moves = b1.addr - a1.addr;
                let inside = moves == 0 || (b1.addr >= first && b1.end() <= ADDRESS_LIMIT);
                if a1.bytes != b1.bytes || moves % ALIGNMENT != 0 || !inside {
                    return Err(format!("{a1:?} became {b1:?}"));
                }
                if moves > 0 {
                    used = used.max(b1.end() - first);
                }
                for (a2, b2) in old.iter().zip(&new).skip(i + 1) {
                    let both = |(addr, bytes): (&u64, &u64)| {
                        let allocation = Segment { addr: *addr, bytes: *bytes };
                        allocation.overlap(**a1).is_some() && allocation.overlap(**a2).is_some()
                    };
                    let together = a1.overlap(**a2).is_some() || live.iter().any(both);
                    // All of a kernel's CTAs run at a time: what it writes must not come to be where it reads.
                    if a1.overlap(**a2).is_none() && b1.overlap(**b2).is_some() {
                        return Err(format!("{a1:?} and {a2:?} meet"));
                    }
                    if together && b2.addr.wrapping_sub(a2.addr) != moves {
                        return Err(format!("{a1:?} and {a2:?} part"));
                    }
                }
            }
        }
    }
    let r = report;
    if used > r.peak_bytes || r.peak_bytes > limit {
        return Err(format!("{used} bytes are used, {} said, the budget is {limit}", r.peak_bytes));
    }
    if r.versions != r.renamed + r.visible + r.unwritten + r.unneeded + r.refused {
        return Err(format!("a version is counted twice, or never: {r:?}"));
    }
    Ok(())
}

/// With memory without end, nothing waits that did not wait before.
fn check_hazards(trace: &Trace, renamed: &Trace) -> Result<(), String> {
    let parts = |trace: &Trace| -> Vec<DependencyGraph> {
        let parts = trace.runs.iter().flat_map(|run| run.parts());
        parts.map(|part| DependencyGraph::build(&part).unwrap()).collect()
    };
    for (before, after) in parts(trace).iter().zip(&parts(renamed)) {
        for (k, up) in after.iter() {
            if let Some(u) = up.iter().find(|u| before.upstream(k).binary_search(u).is_err()) {
                return Err(format!("kernel {k} waits for kernel {u}, and did not before"));
            }
        }
    }
    Ok(())
}

fn check(trace: &Trace, serial: &Serial, budget: Budget, rng: &mut Rng) -> Result<RenameReport, String> {
    let renamed = rename(trace, budget);
    check_addresses(trace, &renamed)?;
    if budget == Budget::Unlimited {
        check_hazards(trace, &renamed.trace)?;
    }
    for order in [Order::Program, Order::NewestFirst, Order::Random, Order::Random] {
        if let Some(difference) = differs(&renamed.trace, serial, order, rng) {
            return Err(difference);
        }
    }
    Ok(renamed.report)
}

/// A stream over a few ranges, many of which overlap; with allocations, with waits, or without.
fn stream(rng: &mut Rng) -> Trace {
    let unit = [1, 7, 64, 256][rng.below(4) as usize];
    let cells = 4 + rng.below(60);
    let range = |rng: &mut Rng, within: Segment| {
        let cells = within.bytes / unit;
        let from = rng.below(cells.max(1));
        let bytes = rng.below((cells - from.min(cells)).min(12) + 1);
        Segment { addr: within.addr + from * unit, bytes: bytes * unit }
    };
    let all = Segment { addr: rng.below(3) * 100, bytes: cells * unit };
    let allocations = rng.one_in(2);
    let mut buffers: Vec<Segment> = (0..1 + rng.below(9)).map(|_| range(rng, all)).collect();
    let waits = [0, 4, 30][rng.below(3) as usize];
    let mut runs = Vec::new();
    for number in 0..1 + rng.below(5) / 3 {
        let mut live: Vec<Segment> = Vec::new();
        let mut recent: Vec<Segment> = Vec::new();
        let mut events = Vec::new();
        let mut index = 0;
        for _ in 0..4 + rng.below(60) {
            if allocations && rng.one_in(3) {
                let segment = range(rng, all);
                if rng.one_in(20) {
                    events.push(Event::Free(segment)); // of what, only the program knows
                    live.retain(|s| *s != segment);
                    continue;
                }
                if live.len() > 1 && rng.one_in(2) {
                    let gone = live.swap_remove(rng.below(live.len() as u64) as usize);
                    events.push(Event::Free(gone));
                } else if segment.bytes > 0 && live.iter().all(|s| s.overlap(segment).is_none()) {
                    live.push(segment);
                    events.push(Event::Alloc(segment));
                }
                continue;
            }
            if waits > 0 && rng.one_in(waits) {
                events.push(Event::Sync { why: String::new() });
                continue;
            }
            let segment = |rng: &mut Rng| match rng.below(16) {
                0 => range(rng, all),
                1 => Segment { bytes: 0, ..range(rng, all) },
                2..=4 => rng.pick(&recent).unwrap_or(all),
                5..=7 => {
                    let whole = rng.pick(if live.is_empty() { &buffers } else { &live }).unwrap_or(all);
                    range(rng, whole)
                }
                _ if allocations && !rng.one_in(5) => rng.pick(&live).unwrap_or(all),
                _ => rng.pick(&buffers).unwrap_or(all),
            };
            let mut k = kernel(&[], &[]);
            k.index = index;
            index += 1;
            k.reads = (0..rng.below(4)).map(|_| segment(rng)).collect();
            k.writes = (0..rng.below(3)).map(|_| segment(rng)).collect();
            if let Some(read) = rng.pick(&k.reads)
                && rng.one_in(6)
            {
                k.writes.push(read);
            }
            if let Some(write) = rng.pick(&k.writes)
                && write.bytes > unit
                && rng.one_in(6)
            {
                // The other half of it, as a segment of its own.
                let half = write.bytes / unit / 2 * unit;
                k.writes.push(Segment { addr: write.addr + half, bytes: write.bytes - half });
            }
            recent.extend(k.writes.iter().copied());
            recent.drain(..recent.len().saturating_sub(6));
            events.push(Event::Kernel(k));
        }
        if rng.one_in(2) {
            live.drain(..).for_each(|s| events.push(Event::Free(s)));
        }
        if rng.one_in(4) {
            buffers.push(range(rng, all));
        }
        runs.push(Run { number, input: None, events });
    }
    Trace { runs, ..Trace::default() }
}

fn budget(rng: &mut Rng) -> Budget {
    match rng.below(8) {
        0 => Budget::Unlimited,
        1 => Budget::Bytes(0),
        2..=4 => Budget::Bytes(rng.below(40) * 100),
        _ => Budget::Factor([0.1, 0.5, 1.0, 1.5, 4.0][rng.below(5) as usize]),
    }
}

#[test]
fn renamed_streams_leave_the_memory_that_they_would_have_left() {
    let seed: u64 = match std::env::var("WINDLASS_SEED") {
        Ok(text) => text.parse().expect("WINDLASS_SEED is a number"),
        Err(_) => 2026,
    };
    let long = std::env::var("WINDLASS_LONG").is_ok_and(|v| v == "1");
    println!("WINDLASS_SEED={seed}");
    let mut sum = RenameReport::default();
    for i in 0..if long { 60_000 } else { 6_000 } {
        // Each stream has a seed of its own; the first is the one given.
        let own = seed.wrapping_add(i);
        let mut rng = Rng(own);
        let trace = stream(&mut rng);
        let serial = Serial::new(&trace, &mut rng);
        let original = differs(&trace, &serial, Order::Random, &mut rng);
        assert_eq!(original, None, "the stream as it is, WINDLASS_SEED={own}");
        for budget in [Budget::Unlimited, budget(&mut rng)] {
            let report = check(&trace, &serial, budget, &mut rng);
            let r = report.unwrap_or_else(|e| panic!("{e}; budget {budget}, WINDLASS_SEED={own}"));
            sum.versions += r.versions;
            sum.renamed += r.renamed;
            sum.visible += r.visible;
            sum.unwritten += r.unwritten;
            sum.unneeded += r.unneeded;
            sum.refused += r.refused;
        }
    }
    println!("{sum:?}");
    // Each way to count a version is met, and none so seldom that it is not tested.
    for count in [sum.renamed, sum.visible, sum.unwritten, sum.unneeded, sum.refused] {
        assert!(count > sum.versions / 200, "{sum:?}");
    }
}

#[test]
fn recorded_streams_leave_the_memory_that_they_would_have_left() {
    let folder = std::env::var("WINDLASS_TRACES")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads").into());
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 5);
    for path in paths {
        let trace = Trace::load(&path).unwrap();
        let mut rng = Rng(7);
        let serial = Serial::new(&trace, &mut rng);
        for budget in [Budget::Factor(0.3), Budget::Factor(1.0), Budget::Factor(2.5), Budget::Unlimited] {
            let report = check(&trace, &serial, budget, &mut rng);
            let report = report.unwrap_or_else(|e| panic!("{}: {e}; budget {budget}", path.display()));
            println!("{}: {report:?}", trace.header.name);
        }
    }
}

fn trace(events: Vec<Event>) -> Trace {
    let runs = vec![Run { number: 0, input: None, events }];
    Trace { runs, ..Trace::default() }
}

fn k(reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Event {
    Event::Kernel(kernel(reads, writes))
}

/// How far each segment moved, kernel by kernel, reads before writes; and what was done.
fn moves(events: Vec<Event>, budget: Budget) -> (Vec<Vec<u64>>, RenameReport) {
    let trace = trace(events);
    let serial = Serial::new(&trace, &mut Rng(1));
    check(&trace, &serial, budget, &mut Rng(2)).unwrap_or_else(|e| panic!("{e}"));
    let renamed = rename(&trace, budget);
    let all = |k: &Kernel| k.reads.iter().chain(&k.writes).map(|s| s.addr).collect::<Vec<_>>();
    let pairs = trace.kernels().map(all).zip(renamed.trace.kernels().map(all));
    let moves = pairs.map(|(old, new)| old.iter().zip(new).map(|(o, n)| n - o).collect());
    (moves.collect(), renamed.report)
}

const A: (u64, u64) = (0, 1000);
const B: (u64, u64) = (1024, 1000);

fn alloc((addr, bytes): (u64, u64)) -> Event {
    Event::Alloc(Segment { addr, bytes })
}

fn free((addr, bytes): (u64, u64)) -> Event {
    Event::Free(Segment { addr, bytes })
}

fn sync() -> Event {
    Event::Sync { why: String::new() }
}

#[test]
fn a_version_moves_and_the_last_one_is_at_home() {
    let twice = vec![k(&[], &[A]), k(&[A], &[B]), k(&[], &[A]), k(&[A], &[])];
    let (moved, report) = moves(twice, Budget::Unlimited);
    assert_eq!(moved, [vec![2048], vec![2048, 0], vec![0], vec![0]]);
    assert_eq!((report.versions, report.renamed, report.visible), (3, 1, 2));
    assert_eq!((report.temporary_bytes, report.renamed_bytes, report.peak_bytes), (2000, 1000, 1024));
}

#[test]
fn what_updates_in_place_or_reads_several_versions_is_one_version() {
    // In place: the second kernel reads what it writes, and has one pointer for both.
    let (moved, report) =
        moves(vec![k(&[], &[A]), k(&[A], &[A]), k(&[A], &[B]), k(&[], &[A])], Budget::Unlimited);
    assert_eq!((moved[0][0], &moved[1], moved[3][0]), (2048, &vec![2048, 2048], 0));
    assert_eq!(report.versions, 3);
    // Halves that are read together go together; a read of one half goes where it is.
    let halves =
        vec![k(&[], &[(0, 500)]), k(&[], &[(500, 500)]), k(&[A], &[]), k(&[(700, 8)], &[]), k(&[], &[A])];
    assert_eq!(moves(halves, Budget::Unlimited).0, [[1024], [1024], [1024], [1024], [0]]);
    // The half that is overwritten is read with the other half: all of it is one version, and visible at the end.
    let (moved, _) = moves(vec![k(&[], &[A]), k(&[], &[(500, 500)]), k(&[A], &[])], Budget::Unlimited);
    assert_eq!(moved, [[0], [0], [0]]);
}

#[test]
fn an_allocation_begins_a_version_and_its_end_needs_none_at_home() {
    let twice = || {
        vec![alloc(A), k(&[], &[(0, 500), (500, 500)]), k(&[A], &[B]), free(A), alloc(A), k(&[], &[(8, 8)])]
    };
    let seen = moves(twice(), Budget::Unlimited);
    assert_eq!(seen.0, [vec![2048, 2048], vec![2048, 0], vec![0]], "the second one lives on");
    let (moved, report) = moves([twice(), vec![k(&[(8, 8)], &[]), free(A)]].concat(), Budget::Unlimited);
    // The first needs no other memory, for it was there first, and nothing has to be at home later.
    assert_eq!((&moved[0], &moved[2]), (&vec![0, 0], &vec![2048]));
    assert_eq!((report.renamed, report.unneeded, report.visible, report.temporary_bytes), (1, 1, 1, 2000));
    // Nobody wrote the rest: what is read with it is not known.
    let (moved, report) =
        moves([twice(), vec![k(&[(0, 16)], &[]), free(A), k(&[], &[A])]].concat(), Budget::Unlimited);
    assert_eq!((&moved[2], &moved[3], report.unwritten), (&vec![0], &vec![0], 1));
    // A free of something else ends nothing.
    let (moved, _) = moves(vec![alloc(A), k(&[], &[A]), free((0, 999))], Budget::Unlimited);
    assert_eq!(moved, [[0]]);
}

#[test]
fn what_the_host_sees_is_at_home_and_what_it_may_have_written_is_read_there() {
    let (moved, report) = moves(
        vec![k(&[], &[A]), k(&[], &[A]), sync(), k(&[A], &[B]), k(&[], &[A]), k(&[], &[A])],
        Budget::Unlimited,
    );
    assert_eq!(moved, [vec![2048], vec![0], vec![0, 0], vec![2048], vec![0]]);
    assert_eq!((report.renamed, report.visible, report.peak_bytes), (2, 3, 1024));
}

#[test]
fn input_and_segments_of_no_bytes_stay() {
    let (moved, report) =
        moves(vec![k(&[A, (3, 0)], &[(1500, 0)]), k(&[], &[A]), k(&[], &[A])], Budget::Unlimited);
    assert_eq!(moved, [vec![0, 0, 0], vec![1536], vec![0]]);
    assert_eq!(report.versions, 2);
}

#[test]
fn a_budget_is_kept_and_memory_that_rested_longest_is_used_again() {
    let x = |addr| (addr, 256);
    let write_and_read = |addr| [k(&[], &[x(addr)]), k(&[x(addr)], &[])];
    let stream = || -> Vec<Event> {
        let all = [0, 0, 256, 0, 256, 0].into_iter().flat_map(write_and_read);
        all.chain([k(&[], &[(0, 512)])]).collect()
    };
    let first_moves = |budget| {
        let (moved, report) = moves(stream(), Budget::Bytes(budget));
        (moved.iter().step_by(2).take(6).map(|m| m[0]).collect::<Vec<_>>(), report)
    };
    let (moved, report) = first_moves(512);
    // The pool's two blocks are at 512 and 768. The third and the fourth version find nobody at home, and none for as long
    // after them as the pool's first block has rested; the others take the blocks in turn.
    assert_eq!(moved, [512, 768, 0, 0, 512 - 256, 768]);
    assert_eq!((report.peak_bytes, report.refused), (512, 2));
    let (moved, report) = first_moves(255);
    assert_eq!((moved, report.renamed, report.refused), (vec![0; 6], 0, 6));
}

#[test]
fn a_trace_up_to_the_last_address_has_no_room() {
    let last = (ADDRESS_LIMIT - 100, 100);
    let (moved, report) = moves(vec![k(&[], &[last]), k(&[], &[last])], Budget::Unlimited);
    assert_eq!((moved, report.refused), (vec![vec![0], vec![0]], 1));
    assert_eq!(rename(&Trace::default(), Budget::Unlimited).report.versions, 0);
    // No reader lets such a segment in; it may be made all the same, and stays where it is.
    let past = trace(vec![k(&[], &[(u64::MAX - 100, 100)]), k(&[(u64::MAX, 7)], &[(u64::MAX - 100, 100)])]);
    assert_eq!(rename(&past, Budget::Unlimited).trace, past);
}

#[test]
fn a_span_grows_and_runs_share_the_memory() {
    let mut trace = trace(vec![k(&[], &[A]), k(&[], &[A])]);
    trace.runs.push(trace.runs[0].clone());
    trace.header.span = Some([0, 5000]);
    let renamed = rename(&trace, Budget::Unlimited);
    assert_eq!(renamed.trace.header.span, Some([0, 5120 + 1024]));
    assert_eq!((renamed.report.renamed, renamed.report.peak_bytes), (2, 1024));
    assert_eq!(rename(&trace, Budget::Bytes(0)).trace, trace);
}

#[test]
fn budgets_are_read_and_written() {
    for (text, budget) in [
        ("0", Budget::Bytes(0)),
        ("65536", Budget::Bytes(65536)),
        ("512K", Budget::Bytes(512 << 10)),
        ("64m", Budget::Bytes(64 << 20)),
        ("2G", Budget::Bytes(2 << 30)),
        ("1.5x", Budget::Factor(1.5)),
        ("0x", Budget::Factor(0.0)),
        ("unlimited", Budget::Unlimited),
    ] {
        assert_eq!(text.parse(), Ok(budget), "{text}");
        assert_eq!(budget.to_string().parse(), Ok(budget));
    }
    for text in [
        "",
        "x",
        "-1",
        "-1x",
        "+5",
        "1.5",
        "1.5M",
        "nanx",
        "infx",
        "1e3x",
        "1.2.3x",
        "5T",
        "K",
        "20000000000G",
        " 1",
        "1 ",
    ] {
        let error = text.parse::<Budget>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{text}` is not a budget; give bytes (0, 65536, 512K")),
            "{error}"
        );
    }
    assert_eq!(Budget::Factor(1.5).bytes(1000), Some(1500));
    assert_eq!(Budget::Factor(f64::MAX).bytes(1000), Some(u64::MAX));
    assert_eq!(Budget::Unlimited.bytes(1000), None);
}

#[test]
fn the_bound_of_a_real_trace_once_renamed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/brax-v1-ant-b256.ktrace.jsonl");
    let trace = Trace::load(path).unwrap();
    assert_eq!(temporary_bytes(&trace), 695_296);
    // At 32 slots, with 46 SMs; 1.751 is what the last writers alone allow.
    for (budget, bound) in [("0", 1.334), ("0.5x", 1.661), ("1x", 1.746), ("unlimited", 1.746)] {
        let renamed = rename(&trace, budget.parse().unwrap());
        let at_32 = window_speed_ups(&renamed.trace).unwrap()[3];
        assert_eq!((at_32 * 1000.0).round() / 1000.0, bound, "{budget}");
    }
}
