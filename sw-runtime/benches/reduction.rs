//! The dependencies of long runs without the full graph, beside the full graph and its reduction, in the same run; and that the two are alike.

use std::time::Instant;
use windlass_runtime::graph::{DependencyGraph, Reduction, Rule};
use windlass_runtime::ktrace::{Kernel, Reader, Trace};

const TRACE: &str = include_str!("../../workloads/brax-v1-ant-b256.ktrace.jsonl");

/// Seconds that it takes, and what it gives.
fn timed<T>(what: impl FnOnce() -> T) -> (f64, T) {
    let started = Instant::now();
    let given = what();
    (started.elapsed().as_secs_f64(), given)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace =
        Trace::read(Reader::new(TRACE.as_bytes(), "brax-v1-ant-b256")?).map_err(|e| format!("{e:?}"))?;
    let one: Vec<&Kernel> = trace.runs.iter().flat_map(|run| run.kernels()).collect();
    println!("kernels  pairs      edges    full graph s  reduction s  ratio");
    for times in [5, 20, 40] {
        let run: Vec<&Kernel> = one.iter().copied().cycle().take(times * one.len()).collect();
        let (plain, full) = timed(|| {
            let full = DependencyGraph::build_with(&run, Rule::All)?;
            Ok::<_, windlass_runtime::graph::TooManyKernels>((full.edges() as u64, full.reduced()))
        });
        let (direct, reduction) = timed(|| Reduction::build(&run, Rule::All));
        let ((pairs, graph), reduction) = (full?, reduction?);
        assert!(reduction == Reduction { graph, pairs }, "the two differ");
        let edges = reduction.graph.edges();
        println!(
            "{:>7}  {pairs:>9}  {edges:>7}  {plain:>12.3}  {direct:>11.3}  {:>5.1}",
            run.len(),
            plain / direct
        );
    }
    // Of so many the full graph takes tens of gigabytes.
    let run: Vec<&Kernel> = one.iter().copied().cycle().take(200_000).collect();
    let (direct, reduction) = timed(|| Reduction::build(&run, Rule::All));
    let Reduction { graph, pairs } = reduction?;
    println!("{:>7}  {pairs:>9}  {:>7}  {:>12}  {direct:>11.3}  {:>5}", run.len(), graph.edges(), "-", "-");
    Ok(())
}
