//! Three heaps of spheres fall and come to rest. With a file name: the kernels are written there, as a ktrace.

use std::error::Error;
use windlass_kernels::rigid_body::{Config, heaps, run};
use windlass_runtime::graph::DependencyGraph;
use windlass_runtime::runtime::Runtime;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rt = Runtime::builder().window(64).record(true).build()?;
    let output = run(&mut rt, &Config::new(heaps(3, 5, 1), 181))?;
    rt.synchronize()?;
    println!("step  contacts  islands  kernels  energy, J  inside, mm");
    for (i, step) in output.steps.iter().enumerate().step_by(20) {
        let (contacts, islands, kernels) = (step.contacts, step.islands, step.kernels);
        let (energy, inside) = (step.energy, step.penetration * 1e3);
        println!("{i:4}  {contacts:8}  {islands:7}  {kernels:7}  {energy:9.1}  {inside:10.1}");
    }
    let trace = rt.recording()?.trace;
    let graph = DependencyGraph::build(&trace.kernels().collect::<Vec<_>>())?;
    println!("{} kernels; the longest chain has {}", graph.len(), graph.depth());
    if let Some(path) = std::env::args().nth(1) {
        trace.save(&path)?;
        println!("{path}");
    }
    Ok(())
}
