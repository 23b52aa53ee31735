//! Eight images through a network that decides for each which of its blocks run. With a file name: the kernels are written there, as a ktrace.

use std::error::Error;
use windlass_kernels::dynamic_network::{Branch, Config, run};
use windlass_runtime::graph::DependencyGraph;
use windlass_runtime::runtime::Runtime;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rt = Runtime::builder().window(64).record(true).build()?;
    let config = Config { tensor_cores: true, ..Config::new(1, 8, 2) };
    let output = run(&mut rt, &config)?;
    rt.synchronize()?;
    println!("image  blocks  expert  class");
    for (i, (branches, expert)) in output.branches.iter().zip(&output.experts).enumerate() {
        let letter = |branch: &Branch| match branch {
            Branch::Skip => '-',
            Branch::Light => 'l',
            Branch::Heavy => 'H',
        };
        let way: String = branches.iter().map(letter).collect();
        let scores = &output.scores[i * config.classes..(i + 1) * config.classes];
        let class = (0..config.classes).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
        println!("{i:5}  {way:6}  {expert:6}  {class:5}");
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
