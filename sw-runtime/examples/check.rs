//! A kernel that touches what it does not declare is found, with the bytes.

use windlass_runtime::args;
use windlass_runtime::runtime::{Error, Kernel, Runtime, Violation};

fn main() -> Result<(), Error> {
    let mut rt = Runtime::builder().check(true).build()?;
    // Each element needs its left neighbour; the declaration has forgotten it.
    let blur = Kernel::new("blur")
        .value_of::<u32>("first")
        .read_of::<f32>("from")
        .write_of::<f32>("to")
        .access(|launch, accesses| {
            let (first, bytes) = (u64::from(launch.value::<u32>(0).unwrap_or(0)), launch.bytes(2));
            accesses.read(1, first * 4..first * 4 + bytes);
            accesses.write(2, 0..bytes);
        })
        .body(|cta| {
            let (first, from, to) =
                (cta.value::<u32>(0)? as usize, cta.read::<f32>(1)?, cta.write::<f32>(2)?);
            (0..to.len()).for_each(|i| to.set(i, (from.get(first + i - 1) + from.get(first + i)) / 2.0));
            Ok(())
        });
    let blur = rt.register(blur)?;
    let (from, to) = (rt.buffer::<f32>(1024)?, rt.buffer::<f32>(1024)?);
    rt.launch(blur, 1, 1, args![512u32, from, to.slice(512..1024)])?;
    rt.synchronize()?;
    let findings = rt.findings();
    findings.iter().for_each(|finding| println!("{finding}"));
    assert_eq!(findings[0].violation, Violation::UndeclaredRead);
    assert_eq!((findings.len(), findings[0].offset, findings[0].bytes), (1, 511 * 4, 4));
    Ok(())
}
