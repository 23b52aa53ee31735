//! Traces side by side in one stream: what is kept of each, and what they share.

mod common;

use common::{cosim, kernel, run, scheduler};
use proptest::prelude::*;
use windlass_cosim::partition::Partitions;
use windlass_cosim::policy::{Policy, SimError, Stream};
use windlass_rtl::params::WindowKind;
use windlass_runtime::ktrace::{ADDRESS_LIMIT, Event, Header, Kernel, Run, Segment, Trace};

fn trace(name: &str, sections: Vec<Vec<Kernel>>) -> Trace {
    let sync = || Event::Sync { why: "test".into() };
    let section =
        |kernels: Vec<Kernel>| kernels.into_iter().map(Event::Kernel).chain([sync()]).collect::<Vec<_>>();
    let events = sections.into_iter().flat_map(section).collect();
    Trace {
        header: Header { name: name.into(), ..Header::default() },
        runs: vec![Run { number: 0, input: None, events }],
        warnings: Vec::new(),
    }
}

/// A trace of one kernel with these segments.
fn spanning(name: &str, reads: &[(u64, u64)]) -> Trace {
    let reads = reads.iter().map(|&(addr, bytes)| Segment { addr, bytes }).collect();
    trace(name, vec![vec![Kernel { reads, ..kernel(name, 1, &[], &[]) }]])
}

fn names(stream: &Stream) -> Vec<&str> {
    stream.kernels().iter().map(|k| k.name.as_str()).collect()
}

#[test]
fn a_partition_that_is_not_there_is_refused() {
    let kernel = |part| Kernel { part: Some(part), ..kernel("k", 1, &[], &[0]) };
    assert!(Stream::from_sections("s", vec![vec![kernel(7)]]).is_ok());
    let error = Stream::from_sections("s", vec![vec![kernel(7)], vec![kernel(8)]]).unwrap_err();
    assert!(matches!(error, SimError::Option { option: "partition", got: 8, .. }), "{error}");
}

#[test]
fn kernels_alternate_in_program_order_and_sections_are_zipped() {
    let one = |name| kernel(name, 1, &[0], &[1]);
    let a = trace("A", vec![vec![one("a0"), one("a1"), one("a2")], vec![one("a3")]]);
    let b = trace("B", vec![vec![one("b0")], vec![one("b1"), one("b2")], vec![one("b3")]]);
    let stream = Stream::side_by_side(&[(&a, 1), (&b, 2)]).expect("fits");
    assert_eq!(stream.name(), "A + B");
    assert_eq!(stream.traces(), ["A", "B"]);
    assert_eq!(names(&stream), ["a0", "b0", "a1", "a2", "a3", "b1", "b2", "b3"]);
    assert_eq!(stream.sections(), [0..4, 4..7, 7..8]);
    let origins: Vec<usize> = (0..8).map(|k| stream.origin(k)).collect();
    assert_eq!(origins, [0, 1, 0, 0, 0, 1, 1, 1]);
    let partitions: Vec<_> = stream.kernels().iter().map(|k| k.part).collect();
    assert_eq!(partitions, [1, 2, 1, 1, 1, 2, 2, 2].map(Some));
}

#[test]
fn the_given_partition_wins() {
    let mut own = kernel("k", 1, &[], &[0]);
    own.part = Some(7);
    let own = trace("own", vec![vec![own]]);
    assert_eq!(Stream::new(&own).expect("short").kernels()[0].part, Some(7));
    assert_eq!(Stream::side_by_side(&[(&own, 3)]).expect("fits").kernels()[0].part, Some(3));
}

#[test]
fn a_plain_stream_is_its_only_trace() {
    let plain = Stream::new(&spanning("A", &[(0, 8)])).expect("short");
    assert_eq!((plain.traces(), plain.origin(0)), (&["A".to_string()][..], 0));
}

#[test]
fn each_trace_moves_behind_those_before_it_and_keeps_its_offset_in_a_page() {
    let a = spanning("A", &[(5000, 100), (20_000, 1)]);
    let b = spanning("B", &[(1 << 50, 1), ((1 << 50) + 9, 4096)]);
    let c = spanning("C", &[(4100, 10)]);
    let stream = Stream::side_by_side(&[(&a, 0), (&b, 0), (&c, 0)]).expect("fits");
    let addresses: Vec<Vec<u64>> =
        stream.kernels().iter().map(|k| k.reads.iter().map(|s| s.addr).collect()).collect();
    assert_eq!(addresses, [vec![5000, 20_000], vec![20_480, 20_489], vec![28_676]]);
}

#[test]
fn a_trace_without_memory_takes_none() {
    let (a, none) = (spanning("A", &[(0, 8)]), spanning("none", &[]));
    let stream = Stream::side_by_side(&[(&a, 0), (&none, 1), (&a, 2)]).expect("fits");
    assert_eq!(stream.kernels()[2].reads[0].addr, 4096);
}

#[test]
fn memory_that_does_not_fit_behind_the_others_is_an_error() {
    let half = ADDRESS_LIMIT / 2;
    let (a, b) = (spanning("A", &[(0, half)]), spanning("B", &[(0, half)]));
    assert!(Stream::side_by_side(&[(&a, 0), (&b, 1)]).is_ok(), "exactly as much as there is");
    let c = spanning("C", &[(0, half + 1)]);
    let error = Stream::side_by_side(&[(&a, 0), (&c, 1)]).expect_err("one byte too many");
    assert_eq!(error, SimError::PastAddressLimit { trace: "C".into(), bytes: half + 1, addr: half });
    assert!(!error.is_wrong(), "no scheduler was at work");
    for word in ["`C`", "past 2^53", "subtract a common base", "fewer traces"] {
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_partition_that_does_not_exist_is_an_error() {
    let a = spanning("A", &[(0, 8)]);
    let error = Stream::side_by_side(&[(&a, 8)]).expect_err("past the last");
    assert_eq!(error.to_string(), "--partition 8: choose 0 to 7");
}

#[test]
fn a_wait_is_for_every_trace() {
    let part = |name: &str, ctas, block| vec![kernel(name, ctas, &[], &[block])];
    let a = trace("A", vec![part("a0", 200, 0), part("a1", 1, 1)]);
    let b = trace("B", vec![part("b0", 1, 0), part("b1", 1, 1)]);
    let stream = Stream::side_by_side(&[(&a, 0), (&b, 0)]).expect("fits");
    let cosim = cosim(scheduler(WindowKind::Matrix, 8));
    let outcome = run(&cosim, &stream);
    for r in &outcome.recordings {
        let before = r.completed[..2].iter().max().expect("two");
        assert!(r.dispatched[2..].iter().all(|d| d >= before), "{:?}", r.policy);
        let overlap = r.dispatched[1] < r.completed[0];
        assert!(
            overlap || [Policy::Serial, Policy::Queue, Policy::StreamsAce].contains(&r.policy),
            "{:?}",
            r.policy
        );
    }
}

#[test]
fn each_trace_has_its_own_end() {
    let one =
        |name, ctas| trace(name, vec![vec![kernel(name, ctas, &[], &[0]), kernel(name, ctas, &[0], &[1])]]);
    let (a, b) = (one("A", 2000), one("B", 1));
    let stream = Stream::side_by_side(&[(&a, 0), (&b, 1)]).expect("fits");
    let mut cosim = cosim(scheduler(WindowKind::Matrix, 8));
    cosim.partitions = Partitions::parse("0-40,41-45", 46).expect("ranges");
    let outcome = run(&cosim, &stream);
    for (policy, r) in outcome.report.policies.iter().zip(&outcome.recordings) {
        let end = |k: usize| r.completed[k].expect("ended");
        let ends: Vec<(&str, u64)> = policy.traces.iter().map(|t| (t.trace.as_str(), t.cycles)).collect();
        assert_eq!(ends, [("A", end(2)), ("B", end(3))], "{}", policy.name());
        // The one SIMT arbiter looks at two kernels at a time, the single arbiter at one.
        assert!(policy.name() != "window typed" || 2 * end(3) < end(2), "B does not wait for A");
    }
    let table = outcome.report.table();
    for text in ["partitions: 0: SMs 0-40; 1: SMs 41-45", "ends [us]"] {
        assert!(table.contains(text), "{table}");
    }
    let mut timeline = Vec::new();
    windlass_cosim::timeline::write(&mut timeline, &stream, &outcome.recordings).expect("a Vec takes all");
    let json: serde_json::Value = serde_json::from_slice(&timeline).expect("JSON");
    assert!(json["traceEvents"].as_array().expect("events").iter().any(|e| e["args"]["trace"] == "B"));
}

fn any_trace() -> impl Strategy<Value = Vec<Vec<Kernel>>> {
    let blocks = || prop::collection::vec(0..10u64, 0..3);
    let one = (blocks(), blocks()).prop_map(|(reads, writes)| kernel("k", 1, &reads, &writes));
    prop::collection::vec(prop::collection::vec(one, 0..8), 0..4)
}

proptest! {
    /// Within each trace order, sections and dependencies are those it has alone; between traces there are none.
    #[test]
    fn each_trace_depends_on_itself_alone(traces in prop::collection::vec(any_trace(), 1..4)) {
        let traces: Vec<Trace> = traces.into_iter().map(|sections| trace("t", sections)).collect();
        let given: Vec<(&Trace, u8)> = traces.iter().zip(0..).collect();
        let stream = Stream::side_by_side(&given).expect("fits");
        let section_of = |stream: &Stream, k| stream.sections().iter().position(|s| s.contains(&k));
        for (t, trace) in traces.iter().enumerate() {
            let alone = Stream::new(trace).expect("short");
            let own: Vec<usize> = (0..stream.kernels().len()).filter(|k| stream.origin(*k) == t).collect();
            prop_assert_eq!(own.len(), alone.kernels().len());
            for (i, k) in own.iter().enumerate() {
                let (mine, original) = (&stream.kernels()[*k], &alone.kernels()[i]);
                let upstream: Vec<u32> = alone.upstream(i).iter().map(|u| own[*u as usize] as u32).collect();
                prop_assert_eq!(stream.upstream(*k), upstream);
                prop_assert_eq!(section_of(&stream, *k), section_of(&alone, i));
                prop_assert_eq!(mine.part, Some(t as u8));
                let bytes = |k: &Kernel| k.reads.iter().chain(&k.writes).map(|s| s.bytes).collect::<Vec<_>>();
                prop_assert_eq!(bytes(mine), bytes(original));
            }
        }
    }
}
