//! The ktrace reader, plain and zstd: no panic, errors that name the file, and what is taken is written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_runtime::analysis::{TraceSummary, window_speed_ups};
use windlass_runtime::explain::{History, Options, dot, explain};
use windlass_runtime::graph::{DependencyGraph, Rule};
use windlass_runtime::hazards::{between, depends};
use windlass_runtime::ktrace::{Compression, Reader, Trace, Writer};
use windlass_runtime::rename::{Budget, rename};

/// Kernels and segments of a trace that is looked at pair by pair.
const SMALL: usize = 64;

fn written(trace: &Trace, compression: Compression) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer =
        Writer::new(&mut bytes, "t", &trace.header, compression).expect("a header that was read");
    writer.trace(trace).expect("a trace that was read");
    writer.finish().expect("memory takes it");
    bytes
}

fn read(bytes: &[u8]) -> Result<Trace, String> {
    let reader = Reader::new(bytes, "t").map_err(|e| e.to_string())?;
    Trace::read(reader).map_err(|e| e.to_string())
}

fuzz_target!(|bytes: &[u8]| {
    let trace = match read(bytes) {
        Ok(trace) => trace,
        Err(said) => {
            assert!(said.lines().all(|line| line.starts_with("t:") || line.starts_with("t: ")), "{said}");
            return;
        }
    };
    for compression in [Compression::Plain, Compression::Zstd] {
        let again = read(&written(&trace, compression)).expect("what is written can be read");
        assert_eq!((&again.header, &again.runs), (&trace.header, &trace.runs));
    }
    let kernels: Vec<_> = trace.kernels().collect();
    let segments: usize = kernels.iter().map(|k| k.reads.len() + k.writes.len()).sum();
    if kernels.len() > SMALL || segments > SMALL {
        return;
    }
    for run in &trace.runs {
        for part in run.parts() {
            let graph = DependencyGraph::build(&part).expect("few kernels");
            for later in 0..part.len() {
                let upstream: Vec<usize> =
                    (0..later).filter(|earlier| depends(part[*earlier], part[later])).collect();
                let found: Vec<usize> = graph.upstream(later as u32).iter().map(|k| *k as usize).collect();
                assert_eq!(found, upstream, "upstream of kernel {later}");
                for earlier in upstream {
                    assert!(!between(part[earlier], part[later]).is_empty());
                }
            }
            let strict = DependencyGraph::build_with(&part, Rule::StrictAlgorithm1).expect("few kernels");
            assert!(strict.edges() <= graph.edges());
            assert!(graph.reduced().edges() <= graph.edges());
        }
    }
    let _ = TraceSummary::new(&trace);
    let _ = window_speed_ups(&trace);
    if let Ok(history) = History::of_run(&trace, None) {
        let options = Options::for_trace(&trace);
        let last = history.len().saturating_sub(1) as u64;
        if let Ok(explanation) = explain(&history, last, &options) {
            let _ = (explanation.text(None), dot(&[explanation]));
        }
    }
    for budget in [Budget::Bytes(0), Budget::Bytes(1 << 20), Budget::Factor(1.5), Budget::Unlimited] {
        let renamed = rename(&trace, budget);
        assert_eq!(renamed.trace.kernels().count(), kernels.len());
    }
});
