//! A small network's kernels through a window of four: who waits for whom, and why.

use std::collections::BTreeMap;
use windlass_hazards::{Access, Engine, Error, Slot};

fn main() -> Result<(), Error> {
    let mut engine = Engine::new(4)?;
    let input = engine.declare_at(0x1000_0000, 4096)?;
    let hidden = engine.declare_at(0x1000_2000, 8192)?;
    let output = engine.declare(4096)?;
    let kernels = [
        ("gemm, first half", vec![input.into()], vec![Access::view(hidden, 0, 4096)]),
        ("gemm, second half", vec![input.into()], vec![Access::view(hidden, 4096, 4096)]),
        ("relu, first half", vec![], vec![Access::raw(0x1000_2000, 4096)]),
        ("reduce", vec![hidden.into()], vec![output.into()]),
    ];
    let mut names: BTreeMap<Slot, &str> = BTreeMap::new();
    let mut ready = Vec::new();
    for (name, reads, writes) in &kernels {
        let inserted = engine.insert(reads, writes)?;
        let (slot, upstream) = (inserted.slot, inserted.upstream.iter().collect::<Vec<_>>());
        names.insert(slot, name);
        println!("{name}: slot {}", slot.0);
        if upstream.is_empty() {
            ready.push(slot);
        }
        for earlier in upstream {
            for hazard in engine.explain(earlier, slot)? {
                println!("  waits for {}: {hazard}", names[&earlier]);
            }
        }
    }
    while let Some(slot) = ready.pop() {
        println!("done: {}", names[&slot]);
        ready.extend(engine.retire(slot)?.iter());
    }
    assert!(engine.is_empty());
    Ok(())
}
