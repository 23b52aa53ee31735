//! Why a kernel waited: streams made by hand with known answers, and random ones against brute force over sets of bytes.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` set the number of cases and the seed, see docs/hazards.md.

mod common;

use common::{kernel, segment};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Instant;
use windlass_runtime::explain::{
    Allocation, Barrier, Buffer, ExplainError, Explanation, History, LocatedHazard, Options, Span, TimeUnit,
    Times, Timing, dot, explain,
};
use windlass_runtime::graph::{Reduction, Rule};
use windlass_runtime::hazards::Class;
use windlass_runtime::ktrace::{Event, Kernel, Run, Segment, Trace};

fn why(kernels: &[Kernel], k: u64) -> Explanation {
    explain(&kernels.iter().collect(), k, &Options::default()).unwrap()
}

/// Class, address and bytes of each.
fn ranges(hazards: &[LocatedHazard]) -> Vec<(Class, u64, u64)> {
    hazards.iter().map(|h| (h.class, h.address, h.bytes)).collect()
}

fn direct(e: &Explanation) -> Vec<u64> {
    e.upstream.iter().filter(|u| !u.implied).map(|u| u.index).collect()
}

fn chain(e: &Explanation) -> Vec<(u64, u64, u64)> {
    e.chain.iter().map(|link| (link.index, link.start, link.end)).collect()
}

/// As [`kernel`], with CTAs for this many units on the default machine.
fn long(units: u32, reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Kernel {
    Kernel { grid: [46, units, 1], ..kernel(reads, writes) }
}

fn sync(why: &str) -> Event {
    Event::Sync { why: why.to_owned() }
}

fn alloc(addr: u64, bytes: u64) -> Event {
    Event::Alloc(Segment { addr, bytes })
}

fn free(addr: u64, bytes: u64) -> Event {
    Event::Free(Segment { addr, bytes })
}

/// A trace with these runs, numbered as they say.
fn trace(runs: Vec<(u64, Vec<Event>)>) -> Trace {
    let runs = runs.into_iter().map(|(number, events)| Run { number, input: None, events });
    Trace { runs: runs.collect(), ..Trace::default() }
}

fn of_run(trace: &Trace, run: Option<u64>, k: u64) -> Explanation {
    explain(&History::of_run(trace, run).unwrap(), k, &Options::for_trace(trace)).unwrap()
}

#[test]
fn of_runs_with_one_number_the_one_with_kernels_is_meant() {
    let one = || Event::Kernel(kernel(&[], &[(0, 8)]));
    let trace = trace(vec![(0, vec![one()]), (5, vec![]), (5, vec![one()])]);
    assert_eq!(of_run(&trace, Some(5), 0).run, 5);
    assert!(matches!(History::of_run(&trace, Some(6)), Err(ExplainError::NoRun { run: 6, .. })));
}

#[test]
fn each_class_is_told_with_the_bytes_that_both_touch() {
    for (class, earlier, later) in [
        (Class::Raw, kernel(&[], &[(0, 8)]), kernel(&[(4, 8)], &[])),
        (Class::War, kernel(&[(4, 8)], &[]), kernel(&[], &[(0, 8)])),
        (Class::Waw, kernel(&[], &[(0, 8)]), kernel(&[], &[(4, 8)])),
    ] {
        let e = why(&[earlier, later], 1);
        assert_eq!((e.upstream.len(), e.upstream[0].index), (1, 0));
        assert_eq!(ranges(&e.upstream[0].hazards), [(class, 4, 4)]);
        assert_eq!(e.upstream[0].renaming_removes, class != Class::Raw);
        assert_eq!((e.earliest_start, e.earliest_start_renamed), (1, u64::from(class == Class::Raw)));
        assert_eq!(e.chain[0].hazards, e.upstream[0].hazards);
    }
}

#[test]
fn two_hazards_with_one_kernel_are_one_wait() {
    let e = why(&[kernel(&[(0, 8)], &[(16, 8)]), kernel(&[(20, 2), (22, 9)], &[(6, 4)])], 1);
    assert_eq!(e.upstream.len(), 1);
    let hazards = [(Class::Raw, 20, 2), (Class::Raw, 22, 2), (Class::War, 6, 2)];
    assert_eq!(ranges(&e.upstream[0].hazards), hazards);
    assert!(!e.upstream[0].renaming_removes, "a RAW hazard stays");
}

#[test]
fn a_kernel_that_waits_for_nothing_says_so() {
    let e = why(&[kernel(&[], &[(0, 8)]), kernel(&[(8, 8)], &[(16, 8)])], 1);
    assert_eq!((e.upstream.len(), e.chain.len(), e.downstream.kernels), (0, 1, 0));
    assert_eq!((e.start, e.end, e.critical_path, e.chain_is_critical), (0, 1, 1, true));
    let text = e.text(None);
    assert!(text.contains("waits for nothing") && text.contains("nothing waits for it"), "{text}");
}

#[test]
fn waits_that_others_imply_are_marked_and_come_last() {
    // 0 before 1 before 2, and 2 overwrites what 0 wrote; 3 is short and needed too.
    let run = [
        kernel(&[], &[(0, 4)]),
        kernel(&[(0, 4)], &[(8, 4)]),
        kernel(&[], &[(16, 4)]),
        kernel(&[(8, 4), (16, 4)], &[(0, 4)]),
    ];
    let e = why(&run, 3);
    assert_eq!(direct(&e), [1, 2], "those that end last come first");
    let implied = &e.upstream[2];
    assert!(implied.implied && implied.index == 0);
    assert_eq!(ranges(&implied.hazards), [(Class::Waw, 0, 4)]);
    // The WAW alone would go, but the data still flows from 0 over 1 to 3.
    assert!(!implied.renaming_removes);
    assert_eq!(why(&run, 0).downstream.direct, [1]);
    assert_eq!(why(&run, 0).downstream.kernels, 2);
    let text = e.text(Some(9));
    assert!(text.contains("waits for 2 kernels, and by implication for 1 more"), "{text}");
    assert!(!text.contains("implied by other waits") && e.text(None).contains("implied by other waits"));
}

#[test]
fn the_chain_goes_back_through_what_ends_last() {
    let run = [
        long(5, &[], &[(0, 4)]),                 // 0 to 5, waits for nothing
        long(2, &[], &[(8, 4)]),                 // 0 to 2
        long(4, &[(8, 4)], &[(16, 4)]),          // 2 to 6
        long(1, &[(0, 4), (16, 4)], &[(24, 4)]), // 6 to 7
        long(9, &[], &[(32, 4)]),                // 0 to 9
        long(2, &[(24, 4)], &[(40, 4)]),         // 7 to 9, critical too
    ];
    let e = why(&run, 3);
    assert_eq!(chain(&e), [(3, 6, 7), (2, 2, 6), (1, 0, 2)]);
    assert_eq!(ranges(&e.chain[0].hazards), [(Class::Raw, 16, 4)]);
    assert_eq!(ranges(&e.chain[1].hazards), [(Class::Raw, 8, 4)]);
    assert_eq!(e.chain[2].hazards, []);
    assert_eq!((e.critical_path, e.slack, e.chain_is_critical), (9, 0, true));
    assert_eq!(direct(&e), [2, 0]);
    assert!(e.upstream[0].ends_last && !e.upstream[1].ends_last);
    assert!(why(&run, 4).chain_is_critical);
}

#[test]
fn slack_is_how_much_later_a_kernel_may_start() {
    let run = [
        long(3, &[], &[(0, 4)]),          // critical
        long(2, &[], &[(8, 4)]),          // may start 5 later
        long(4, &[(0, 4)], &[(16, 4)]),   // critical, 3 to 7
        long(1, &[(8, 4), (16, 4)], &[]), // critical, 7 to 8
        long(1, &[(0, 4)], &[(24, 4)]),   // 3 to 4, nothing waits for it: 4
    ];
    let times: Vec<_> = (0..5)
        .map(|k| {
            let e = why(&run, k);
            (e.earliest_start, e.latest_start, e.slack, e.chain_is_critical)
        })
        .collect();
    assert_eq!(
        times,
        [(0, 0, 0, true), (0, 5, 5, false), (3, 3, 0, true), (7, 7, 0, true), (3, 7, 4, false)]
    );
    assert_eq!(why(&run, 4).joins_critical_path, Some(0));
    assert_eq!(why(&run, 1).joins_critical_path, None);
    assert!(why(&run, 4).text(None).contains("meets the critical path at kernel 0"));
    assert!(
        why(&run, 4).text(None).contains("slack 4 units beside the critical path of kernels 0 to 4, 8 units")
    );
}

#[test]
fn equal_ends_give_the_kernel_that_was_launched_first() {
    let run = [kernel(&[], &[(0, 4)]), kernel(&[], &[(8, 4)]), kernel(&[(0, 12)], &[])];
    assert_eq!(chain(&why(&run, 2)), [(2, 1, 2), (0, 0, 1)]);
}

#[test]
fn no_wait_crosses_a_barrier() {
    let k = || Event::Kernel(kernel(&[(0, 4)], &[(0, 4)]));
    let trace = trace(vec![(4, vec![k(), k(), sync("loss to host"), k(), k(), k(), sync("end"), k()])]);
    let e = of_run(&trace, None, 3);
    assert_eq!((direct(&e), e.run, e.part_first, e.part_kernels, e.critical_path), (vec![2], 4, 2, 3, 3));
    let loss = Barrier::Sync { why: "loss to host".into(), before_kernel: 2 };
    assert_eq!(e.barriers, [Barrier::Run { run: 4 }, loss], "what comes later is no reason");
    assert_eq!((e.start, e.downstream.kernels), (1, 1), "time counts from the barrier");
    assert!(
        e.text(None).contains("behind the barrier before kernel 2: sync, loss to host (1 so far in run 4)")
    );
    assert_eq!(of_run(&trace, None, 2).upstream, []);
    assert_eq!(of_run(&trace, None, 5).barriers.len(), 3);
    assert!(of_run(&trace, None, 1).text(None).contains("no barrier since run 4 began"));
}

#[test]
fn runs_are_found_by_number() {
    let k = |units| Event::Kernel(long(units, &[(0, 4)], &[(0, 4)]));
    let trace = trace(vec![(7, vec![k(1), k(2)]), (3, vec![k(3), k(4), k(5)]), (7, vec![])]);
    assert_eq!(of_run(&trace, None, 1).end, 3);
    assert_eq!(of_run(&trace, Some(7), 1).end, 3);
    assert_eq!((of_run(&trace, Some(3), 2).end, of_run(&trace, Some(3), 0).upstream.len()), (12, 0));
    let no_run = History::of_run(&trace, Some(4)).unwrap_err();
    assert_eq!(no_run.to_string(), "the trace has no run 4; its runs are: 7, 3, 7");
    assert_eq!(History::of_run(&Trace::default(), Some(4)).unwrap_err(), ExplainError::Empty);
    assert_eq!(History::of_run(&Trace::default(), None).unwrap_err(), ExplainError::Empty);
}

#[test]
fn errors_say_what_there_is() {
    let run = [kernel(&[], &[]), kernel(&[], &[])];
    let history: History = run.iter().collect();
    let spans = |spans: &[(u64, u64)]| Timing {
        unit: TimeUnit::Ns,
        spans: spans.iter().map(|&(start, end)| Span { start, end }).collect(),
    };
    let error = |k, schedule: Option<&Timing>| {
        explain(&history, k, &Options { timing: schedule, ..Options::default() }).unwrap_err().to_string()
    };
    assert_eq!(error(2, None), "run 0 has no kernel 2; it has 2 kernels, numbered from 0");
    assert_eq!(
        error(u64::MAX, None),
        format!("run 0 has no kernel {}; it has 2 kernels, numbered from 0", u64::MAX)
    );
    assert_eq!(
        error(0, Some(&spans(&[(0, 1)]))),
        "the schedule has 1 spans for 2 kernels; give one span per kernel, in program order"
    );
    assert_eq!(
        error(0, Some(&spans(&[(0, 1), (5, 4)]))),
        "the schedule says that kernel 1 starts at 5 and ends at 4; no kernel ends before it starts"
    );
    assert!(History::default().is_empty());
    assert!(explain(&History::new(9), 0, &Options::default()).is_err());
}

#[test]
fn the_buffer_is_the_allocation_that_lives_when_the_kernel_is_launched() {
    let k = |reads: &[(u64, u64)], writes: &[(u64, u64)]| Event::Kernel(kernel(reads, writes));
    let trace = trace(vec![
        (0, vec![alloc(4096, 64), k(&[], &[(4096, 64)]), free(4096, 64), alloc(0, 16), k(&[], &[])]),
        (
            1,
            vec![
                alloc(1024, 256),
                k(&[(2000, 4)], &[(1024, 256)]), // 0 writes allocation 2
                k(&[(1100, 8)], &[]),            // 1 reads of it
                free(1024, 256),
                alloc(1024, 128),
                k(&[], &[(1024, 128), (2000, 4)]), // 2 writes allocation 3 in its place, and a persistent range
                k(&[(8, 4)], &[(1030, 1)]),        // 3 is in the same, and reads what run 0 left behind
                k(&[], &[(8, 1)]),                 // 4
            ],
        ),
    ]);
    let made = |number, address, bytes, run, before_kernel| Allocation {
        number,
        address,
        bytes,
        run,
        before_kernel,
    };
    let at = |allocation, offset| Buffer::Allocation { allocation, offset };
    let (old, new) = (made(2, 1024, 256, 1, 0), made(3, 1024, 128, 1, 2));

    let e = of_run(&trace, Some(1), 1);
    assert_eq!(e.upstream[0].hazards[0].buffer, at(old, 76));
    assert_eq!(e.upstream[0].hazards[0].earlier_buffer, None);

    let e = of_run(&trace, Some(1), 2);
    let of = |k| &e.upstream.iter().find(|u| u.index == k).unwrap().hazards;
    let war = &of(1)[0];
    assert_eq!((war.class, war.address, war.bytes), (Class::War, 1100, 8));
    assert_eq!((war.buffer, war.earlier_buffer), (at(new, 76), Some(at(old, 76))));
    assert_eq!(ranges(of(0)), [(Class::War, 2000, 4), (Class::Waw, 1024, 128)]);
    assert_eq!((of(0)[0].buffer, of(0)[0].earlier_buffer), (Buffer::Persistent, None));
    let text = e.text(None);
    for words in
        ["alloc 3 + 76 of 128, before kernel 2", "memory reused, before alloc 2 + 76 of 256, before kernel 0"]
    {
        assert!(text.contains(words), "{text}");
    }

    let e = of_run(&trace, Some(1), 4);
    assert_eq!(e.upstream[0].hazards[0].buffer, at(made(1, 0, 16, 0, 1), 8));
    assert!(e.text(None).contains("alloc 1 + 8 of 16, before kernel 1 of run 0"), "{}", e.text(None));
    // The write to 1030 comes after the reuse: nothing was reused between the two.
    assert_eq!(of_run(&trace, Some(1), 3).upstream[0].hazards[0].earlier_buffer, None);
}

#[test]
fn a_range_over_several_buffers_is_told_for_each() {
    let k = |reads: &[(u64, u64)], writes: &[(u64, u64)]| Event::Kernel(kernel(reads, writes));
    let trace = trace(vec![(0, vec![alloc(10, 10), alloc(20, 5), k(&[], &[(0, 40)]), k(&[(5, 30)], &[])])]);
    let e = of_run(&trace, None, 1);
    let pieces: Vec<_> = e.upstream[0]
        .hazards
        .iter()
        .map(|h| match h.buffer {
            Buffer::Persistent => (h.address, h.bytes, None),
            Buffer::Allocation { allocation, offset } => {
                (h.address, h.bytes, Some((allocation.number, offset)))
            }
        })
        .collect();
    assert_eq!(pieces, [(5, 5, None), (10, 10, Some((0, 0))), (20, 5, Some((1, 0))), (25, 10, None)]);
}

#[test]
fn an_allocation_over_a_live_one_ends_it() {
    let k = |reads: &[(u64, u64)], writes: &[(u64, u64)]| Event::Kernel(kernel(reads, writes));
    let lost =
        vec![alloc(0, 8), alloc(8, 8), alloc(4, 8), alloc(12, 0), k(&[], &[(0, 16)]), k(&[(0, 16)], &[])];
    let e = of_run(&trace(vec![(0, lost)]), None, 1);
    let held = e.upstream[0].hazards.iter().map(|h| (h.address, h.bytes, h.buffer != Buffer::Persistent));
    assert_eq!(held.collect::<Vec<_>>(), [(0, 4, false), (4, 8, true), (12, 4, false)]);
}

#[test]
fn addresses_at_the_very_end_are_no_panic() {
    let huge = kernel(&[(u64::MAX - 1, u64::MAX)], &[(u64::MAX - 4, u64::MAX)]);
    let mut history = History::new(0);
    history.alloc(Segment { addr: u64::MAX - 2, bytes: u64::MAX });
    history.launch(&huge);
    history.launch(&huge);
    let e = explain(&history, 1, &Options::default()).unwrap();
    assert_eq!(e.upstream[0].hazards.len(), 4, "{:?}", e.upstream);
}

#[test]
fn measured_durations_count_where_every_kernel_has_one() {
    let timed =
        |ns, reads: &[(u64, u64)], writes: &[(u64, u64)]| Kernel { dur_ns: ns, ..kernel(reads, writes) };
    let mut run = vec![
        timed(Some(30), &[], &[(0, 4)]),
        timed(Some(900), &[], &[(8, 4)]),
        timed(Some(7), &[(0, 12)], &[]),
    ];
    let e = why(&run, 2);
    assert_eq!(
        (e.times, chain(&e)),
        (Times::Measured { unit: TimeUnit::Ns }, vec![(2, 900, 907), (1, 0, 900)])
    );
    run.push(timed(None, &[], &[]));
    let e = why(&run, 2);
    assert_eq!((e.times, e.end), (Times::Estimated { unit: TimeUnit::Units, sms: 46 }, 2));
}

#[test]
fn fewer_sms_take_longer() {
    let run = [long(2, &[], &[(0, 4)]), kernel(&[(0, 4)], &[])];
    let options = Options { sms: NonZeroU32::new(23).unwrap(), ..Options::default() };
    let e = explain(&run.iter().collect(), 1, &options).unwrap();
    assert_eq!((e.start, e.times), (4, Times::Estimated { unit: TimeUnit::Units, sms: 23 }));
}

#[test]
fn a_recorded_schedule_is_believed_and_its_faults_are_shown() {
    let run = [
        kernel(&[], &[(0, 4)]),
        kernel(&[], &[(8, 4)]),
        kernel(&[(0, 4), (8, 4)], &[(16, 4)]),
        kernel(&[(16, 4)], &[]),
    ];
    // 1 is short but started late: 2 waited for it all the same. 3 started before 2 had ended.
    let spans = [(100, 150), (160, 170), (180, 300), (299, 310)];
    let schedule = Timing {
        unit: TimeUnit::Cycles,
        spans: spans.iter().map(|&(start, end)| Span { start, end }).collect(),
    };
    let options = Options { timing: Some(&schedule), ..Options::default() };
    let e = |k| explain(&run.iter().collect(), k, &options).unwrap();
    assert_eq!(chain(&e(2)), [(2, 180, 300), (1, 160, 170)]);
    assert_eq!((e(2).start, e(2).earliest_start, e(2).critical_path), (180, 50, 181));
    // 2 is on the critical path, which comes in by 0; this run took 1.
    assert_eq!((e(2).slack, e(2).chain_is_critical, e(1).slack), (0, false, 40));
    assert!(e(0).chain_is_critical);
    assert!(e(2).upstream.iter().all(|u| !u.violated));
    assert!(e(3).upstream[0].violated);
    assert!(e(3).text(None).contains("BROKEN: the kernel started at 299, before this one had ended"));
    assert!(e(2).text(None).contains("runs 180 to 300 cycles (recorded)"));
}

#[test]
fn who_does_not_wait_for_a_renamed_value_breaks_nothing() {
    // 1 reads what 0 writes; 2 overwrites it, while 1 still reads; 3 reads what 2 and 0 wrote.
    let run = [
        kernel(&[], &[(0, 4), (8, 4)]),
        kernel(&[(0, 4)], &[]),
        kernel(&[], &[(0, 4)]),
        kernel(&[(0, 4), (8, 4)], &[]),
    ];
    let spans = [(0, 10), (10, 90), (20, 30), (30, 40)];
    let timing =
        Timing { unit: TimeUnit::Ns, spans: spans.iter().map(|&(start, end)| Span { start, end }).collect() };
    let e = |k, renamed| {
        let options = Options { timing: Some(&timing), renamed, ..Options::default() };
        explain(&run.iter().collect(), k, &options).unwrap()
    };
    let told = |e: &Explanation| -> Vec<_> {
        e.upstream.iter().map(|u| (u.index, u.violated, u.renamed, u.ends_last)).collect()
    };
    assert_eq!(told(&e(2, false)), [(1, true, false, true), (0, false, false, false)]);
    assert_eq!(told(&e(2, true)), [(1, false, true, false), (0, false, false, false)]);
    assert!(e(2, true).text(None).contains("none was waited for: the new value had memory of its own"));
    assert_eq!(chain(&e(3, true)), [(3, 30, 40), (2, 20, 30)]);
    // Data that comes too late is broken all the same.
    let spans = [(0, 10), (5, 90), (20, 30), (25, 40)];
    let timing =
        Timing { spans: spans.iter().map(|&(start, end)| Span { start, end }).collect(), ..timing.clone() };
    let options = Options { timing: Some(&timing), renamed: true, ..Options::default() };
    let e = |k| explain(&run.iter().collect(), k, &options).unwrap();
    assert!(e(1).upstream[0].violated && e(3).upstream[0].violated);
    assert_eq!(chain(&e(3)), [(3, 25, 40), (0, 0, 10)]);
}

#[test]
fn a_live_run_asks_without_a_trace() {
    let (a, b) = (kernel(&[], &[(64, 8)]), kernel(&[(64, 8)], &[]));
    let mut history = History::new(12);
    history.launch(&a);
    history.sync("result");
    history.alloc(Segment { addr: 64, bytes: 32 });
    history.launch(&a);
    history.launch(&b);
    let e = explain(&history, 2, &Options::default()).unwrap();
    assert_eq!((e.run, direct(&e), history.len()), (12, vec![1], 3));
    assert!(
        matches!(e.upstream[0].hazards[0].buffer, Buffer::Allocation { allocation, .. } if allocation.number == 0)
    );
    history.free(64);
    history.begin_run(13);
    assert!(history.is_empty());
}

/// A new buffer for each kernel of a long chain: to look for each byte among all that ever lived would take 50,000 times 50,000 looks,
/// a dozen times what finding the hazards takes.
#[test]
fn a_long_run_with_as_many_buffers_takes_little_longer_than_its_hazards() {
    let count = 50_000;
    let buffer = |k: u64| (4096 + k * 256, 64);
    let held = |k: u64| Segment { addr: buffer(k).0, bytes: buffer(k).1 };
    let kernels: Vec<Kernel> = (0..count).map(|k| long(1, &[buffer(k)], &[buffer(k + 1)])).collect();
    let mut history = History::default();
    let began = Instant::now();
    Reduction::build(&kernels.iter().collect::<Vec<_>>(), Rule::All).unwrap();
    let hazards = began.elapsed();
    history.alloc(held(0));
    for (k, kernel) in (0..).zip(&kernels) {
        history.alloc(held(k + 1));
        history.launch(kernel);
        history.free(buffer(k).0);
    }
    let began = Instant::now();
    let answer = explain(&history, count - 1, &Options::default()).unwrap();
    let took = began.elapsed();
    let named = answer.chain.iter().take(answer.chain.len() - 1).all(|link| {
        let Buffer::Allocation { allocation, offset: 0 } = link.hazards[0].buffer else { return false };
        allocation.number == link.index
    });
    assert!(named && answer.chain.len() as u64 == count);
    assert!(took < 4 * hazards, "{took:?}, and the hazards alone {hazards:?}");
}

#[test]
fn long_lists_are_cut_with_a_count() {
    let mut run: Vec<Kernel> = (0..30).map(|k| kernel(&[], &[(k * 8, 8)])).collect();
    run.push(kernel(&[(0, 240)], &[(240, 8)]));
    run.extend((0..30).map(|_| kernel(&[(240, 8)], &[(240, 8)])));
    let text = why(&run, 30).text(Some(4));
    assert!(text.contains("waits for 30 kernels\n") && text.contains("... 26 more"), "{text}");
    assert_eq!(text.lines().filter(|l| l.contains("RAW")).count(), 5, "four waits and a link:\n{text}");
    let text = why(&run, 60).text(Some(4));
    assert!(text.contains("chain of 32 kernels") && text.contains("... 28 more, back to kernel 0"), "{text}");
    assert!(!why(&run, 60).text(None).contains("more,"));
    let fan: Vec<Kernel> =
        std::iter::once(kernel(&[], &[(0, 8)])).chain((0..9).map(|_| kernel(&[(0, 8)], &[]))).collect();
    assert!(why(&fan, 0).text(Some(2)).contains("9 kernels wait for it: 1, 2, ...\n"));
}

#[test]
fn a_graph_shows_chain_and_waits() {
    let run = [
        long(3, &[], &[(0, 4)]),
        Kernel { name: "a \"quoted\" \\ name\n".into(), ..kernel(&[], &[(8, 4)]) },
        kernel(&[(0, 4), (8, 4)], &[(16, 4), (8, 2)]),
    ];
    let dot = dot(&[why(&run, 2), why(&run, 1)]);
    assert!(dot.starts_with("digraph explain {\n") && dot.ends_with("}\n"), "{dot}");
    for line in [
        "  r0k0 [label=\"0: \\n0 to 3 units\", peripheries=2];",
        "  r0k1 [label=\"1: a \\\"quoted\\\" \\\\ name \\n0 to 1 units\", shape=box];",
        "  r0k2 [label=\"2: \\n3 to 4 units\", shape=box, peripheries=2];",
        "  r0k0 -> r0k2 [label=\"RAW 4 B\", penwidth=3];",
        "  r0k1 -> r0k2 [label=\"RAW 4 B\\nWAW 2 B\"];",
    ] {
        assert!(dot.lines().any(|l| l == line), "no `{line}` in\n{dot}");
    }
    assert_eq!(dot.lines().filter(|l| l.contains("->")).count(), 2);
}

#[test]
fn json_has_units_and_every_field() {
    let run = [kernel(&[], &[(0, 4)]), kernel(&[], &[(0, 4)])];
    let mut history = History::new(0);
    history.alloc(Segment { addr: 0, bytes: 16 });
    run.iter().for_each(|kernel| history.launch(kernel));
    let json = serde_json::to_value(explain(&history, 1, &Options::default()).unwrap()).unwrap();
    assert_eq!(json["times"], serde_json::json!({"kind": "estimated", "unit": "units", "sms": 46}));
    assert_eq!(json["kernel"]["type"], "SIMT");
    assert_eq!(json["barriers"], serde_json::json!([{"kind": "run", "run": 0}]));
    assert_eq!(
        json["upstream"][0]["hazards"],
        serde_json::json!([{"class": "WAW", "address": 0, "bytes": 4, "buffer": {
            "kind": "allocation", "number": 0, "address": 0, "bytes": 16, "run": 0, "before_kernel": 0, "offset": 0,
        }}])
    );
    assert_eq!(json["upstream"][0]["renaming_removes"], true);
}

#[test]
fn a_real_trace_has_an_answer_for_every_kernel() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/alexnet-b1.ktrace.jsonl");
    let trace = Trace::load(path).unwrap();
    let history = History::of_run(&trace, None).unwrap();
    let all: Vec<_> = (0..24).map(|k| explain(&history, k, &Options::for_trace(&trace)).unwrap()).collect();
    assert!(all.iter().all(|e| e.text(None).lines().all(|l| l.chars().count() <= 100)));
    let reused =
        all.iter().flat_map(|e| &e.upstream).flat_map(|u| &u.hazards).filter(|h| h.earlier_buffer.is_some());
    assert!(reused.count() > 0, "the pool reuses memory");
}

fn bytes(segments: &[Segment]) -> BTreeSet<u64> {
    segments.iter().flat_map(|s| s.addr..s.end()).collect()
}

/// The bytes of each hazard class, one by one.
fn oracle(earlier: &Kernel, later: &Kernel) -> BTreeMap<Class, BTreeSet<u64>> {
    let both = |a: &[Segment], b: &[Segment]| &bytes(a) & &bytes(b);
    let mut classes = BTreeMap::from([
        (Class::Raw, both(&earlier.writes, &later.reads)),
        (Class::War, both(&earlier.reads, &later.writes)),
        (Class::Waw, both(&earlier.writes, &later.writes)),
    ]);
    classes.retain(|_, bytes| !bytes.is_empty());
    classes
}

/// All that each kernel waits for, directly or not.
fn closure(lists: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let mut closed: Vec<BTreeSet<usize>> = Vec::new();
    for list in lists {
        closed.push(list.iter().flat_map(|u| closed[*u].iter().copied().chain([*u])).collect());
    }
    closed
}

/// When each kernel ends at the earliest.
fn ends(lists: &[BTreeSet<usize>], durations: &[u64]) -> Vec<u64> {
    let mut ends: Vec<u64> = Vec::new();
    for (k, list) in lists.iter().enumerate() {
        ends.push(durations[k] + list.iter().map(|u| ends[*u]).max().unwrap_or(0));
    }
    ends
}

/// What brute force knows of a kernel of a stream.
struct Known {
    kernel: Kernel,
    part: usize,
    /// The allocation that holds each byte when it is launched.
    owners: BTreeMap<u64, u64>,
}

fn known(events: &[Event]) -> Vec<Known> {
    let (mut known, mut part, mut number) = (Vec::new(), 0, 0);
    let mut live: Vec<(u64, Segment)> = Vec::new();
    for event in events {
        match event {
            Event::Kernel(kernel) => {
                let owners = live.iter().flat_map(|(n, s)| (s.addr..s.end()).map(move |byte| (byte, *n)));
                known.push(Known { kernel: kernel.clone(), part, owners: owners.collect() });
            }
            Event::Alloc(segment) => {
                live.retain(|(_, s)| s.overlap(*segment).is_none());
                if segment.bytes > 0 {
                    live.push((number, *segment));
                }
                number += 1;
            }
            Event::Free(segment) => live.retain(|(_, s)| s.addr != segment.addr),
            Event::Sync { .. } => part += 1,
            Event::Run { .. } => {}
        }
    }
    known
}

/// For each kernel of a part, the last writer of each byte that it reads.
fn flow(part: &[&Known]) -> Vec<BTreeSet<usize>> {
    let mut writer = BTreeMap::new();
    let mut lists = Vec::new();
    for (k, known) in part.iter().enumerate() {
        lists.push(bytes(&known.kernel.reads).iter().filter_map(|b| writer.get(b)).copied().collect());
        writer.extend(bytes(&known.kernel.writes).into_iter().map(|b| (b, k)));
    }
    lists
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let segments = || prop::collection::vec(segment(), 0..3);
    let launch = (segments(), segments(), 1..300u32).prop_map(|(reads, writes, ctas)| {
        Event::Kernel(Kernel { reads, writes, grid: [ctas, 1, 1], ..kernel(&[], &[]) })
    });
    let event = prop_oneof![
        12 => launch,
        3 => segment().prop_map(Event::Alloc),
        2 => segment().prop_map(Event::Free),
        1 => Just(sync("why")),
    ];
    prop::collection::vec(event, 1..40)
}

/// One kernel's explanation against brute force. `place` is the kernel within its `part`, `spans` a schedule of the part.
fn check(
    e: &Explanation,
    part: &[&Known],
    place: usize,
    spans: Option<&[Span]>,
) -> Result<(), TestCaseError> {
    let first = e.part_first as usize;
    let lists: Vec<BTreeSet<usize>> = part
        .iter()
        .enumerate()
        .map(|(k, later)| (0..k).filter(|u| !oracle(&part[*u].kernel, &later.kernel).is_empty()).collect())
        .collect();
    let closed = closure(&lists);
    let durations: Vec<u64> = match spans {
        Some(spans) => spans.iter().map(|s| s.end - s.start).collect(),
        None => part.iter().map(|k| k.kernel.ctas().div_ceil(46)).collect(),
    };
    let earliest = ends(&lists, &durations);
    let span = |k: usize| match spans {
        Some(spans) => spans[k],
        None => Span { start: earliest[k] - durations[k], end: earliest[k] },
    };
    prop_assert_eq!(Span { start: e.start, end: e.end }, span(place));
    prop_assert_eq!(e.earliest_start, earliest[place] - durations[place]);
    prop_assert_eq!(e.part_kernels as usize, part.len());

    // What it waits for, and why.
    let upstream: BTreeSet<usize> = e.upstream.iter().map(|u| u.index as usize - first).collect();
    prop_assert_eq!(&upstream, &lists[place]);
    prop_assert_eq!(upstream.len(), e.upstream.len());
    let renamed = flow(part);
    let needed = closure(&renamed);
    for wait in &e.upstream {
        let u = wait.index as usize - first;
        prop_assert_eq!(wait.implied, lists[place].iter().any(|v| closed[*v].contains(&u)));
        prop_assert_eq!(wait.renaming_removes, !needed[place].contains(&u));
        if !wait.implied {
            prop_assert_eq!(wait.renaming_removes, wait.hazards.iter().all(|h| h.class != Class::Raw));
        }
        prop_assert_eq!(Span { start: wait.start, end: wait.end }, span(u));
        prop_assert_eq!(wait.violated, span(u).end > span(place).start);
        let mut found: BTreeMap<Class, BTreeSet<u64>> = BTreeMap::new();
        for hazard in &wait.hazards {
            let range = hazard.address..hazard.address + hazard.bytes;
            found.entry(hazard.class).or_default().extend(range.clone());
            for (i, byte) in range.enumerate() {
                let owner = |k: usize| part[k].owners.get(&byte).copied();
                let said = |buffer: &Buffer| match buffer {
                    Buffer::Persistent => None,
                    Buffer::Allocation { allocation, offset } => {
                        assert_eq!(allocation.address + offset + i as u64, byte);
                        assert!(*offset + (i as u64) < allocation.bytes);
                        Some(allocation.number)
                    }
                };
                prop_assert_eq!(said(&hazard.buffer), owner(place));
                prop_assert_eq!(hazard.earlier_buffer.is_some(), owner(place) != owner(u));
                prop_assert_eq!(said(hazard.earlier_buffer.as_ref().unwrap_or(&hazard.buffer)), owner(u));
            }
        }
        prop_assert_eq!(found, oracle(&part[u].kernel, &part[place].kernel));
    }

    // The chain ends where nothing is left to wait for; each link waited longest for the next.
    let chain: Vec<usize> = e.chain.iter().map(|link| link.index as usize - first).collect();
    prop_assert_eq!(chain[0], place);
    for (link, k) in e.chain.iter().zip(&chain) {
        prop_assert_eq!(Span { start: link.start, end: link.end }, span(*k));
    }
    let implied = |k: usize, u: &usize| lists[k].iter().any(|v| closed[*v].contains(u));
    let reduced = |k: usize| -> Vec<usize> { lists[k].iter().filter(|u| !implied(k, u)).copied().collect() };
    for pair in chain.windows(2) {
        prop_assert_eq!(Some(span(pair[1]).end), reduced(pair[0]).iter().map(|u| span(*u).end).max());
        prop_assert!(lists[pair[0]].contains(&pair[1]));
    }
    prop_assert!(lists[chain[chain.len() - 1]].is_empty());
    let length: u64 = chain.iter().map(|k| durations[*k]).sum();
    if spans.is_none() {
        prop_assert_eq!(length, earliest[place], "the chain is the longest path");
    }
    let first_of_all = e.upstream.first().map(|u| u.index as usize - first).filter(|_| chain.len() > 1);
    prop_assert_eq!(first_of_all, chain.get(1).copied(), "what ended last comes first");

    // Slack is the most that a kernel may grow without making the whole longer.
    let whole = |durations: &[u64]| ends(&lists, durations).into_iter().max().unwrap_or(0);
    prop_assert_eq!(e.critical_path, whole(&durations));
    let slack = |k: usize| {
        let mut longer = durations.clone();
        let mut slack = 0;
        loop {
            longer[k] += 1;
            if whole(&longer) > whole(&durations) {
                return slack;
            }
            slack += 1;
        }
    };
    prop_assert_eq!(e.slack, slack(place));
    prop_assert_eq!(e.latest_start - e.earliest_start, e.slack);
    for (link, k) in e.chain.iter().zip(&chain) {
        prop_assert_eq!(link.critical, slack(*k) == 0);
    }
    prop_assert_eq!(e.chain_is_critical, slack(place) == 0 && length == earliest[place]);
    let joins = chain.iter().find(|k| slack(**k) == 0).map(|k| (*k + first) as u64);
    prop_assert_eq!(e.joins_critical_path, joins);
    prop_assert_eq!(e.earliest_start_renamed, ends(&renamed, &durations)[place] - durations[place]);

    let later: Vec<usize> = (0..part.len()).filter(|k| lists[*k].contains(&place)).collect();
    prop_assert_eq!(e.downstream.kernels, later.len() as u64);
    let direct: Vec<u64> =
        later.iter().filter(|k| reduced(**k).contains(&place)).map(|k| (*k + first) as u64).collect();
    prop_assert_eq!(&e.downstream.direct, &direct);

    for text in [e.text(Some(3)), e.text(None)] {
        prop_assert!(text.lines().all(|line| line.chars().count() <= 100), "{}", text);
    }
    Ok(())
}

proptest! {
    #[test]
    fn explanations_agree_with_brute_force(
        events in events(),
        spans in prop::collection::vec((0..99u64, 0..9u64), 40),
    ) {
        let known = known(&events);
        let trace = trace(vec![(0, events)]);
        let history = History::of_run(&trace, None).unwrap();
        let spans = spans.iter().take(known.len()).map(|(start, takes)| Span { start: *start, end: start + takes });
        let schedule = Timing { unit: TimeUnit::Ns, spans: spans.collect() };
        for (k, subject) in known.iter().enumerate() {
            let place = known[..k].iter().filter(|other| other.part == subject.part).count();
            let part: Vec<&Known> = known.iter().filter(|other| other.part == subject.part).collect();
            let e = explain(&history, k as u64, &Options::default()).unwrap();
            prop_assert_eq!(e.part_first as usize, k - place);
            prop_assert_eq!(e.barriers.len(), subject.part + 1);
            check(&e, &part, place, None)?;
            let spans = &schedule.spans[k - place..k - place + part.len()];
            let recorded = Options { timing: Some(&schedule), ..Options::default() };
            check(&explain(&history, k as u64, &recorded).unwrap(), &part, place, Some(spans))?;
        }
    }
}
