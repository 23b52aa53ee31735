//! A run is recorded, asked why a kernel waited, and repeated on another number of threads in exactly the same order.

use windlass_runtime::args;
use windlass_runtime::runtime::{Cpu, Error, Kernel, Recording, Runtime, Schedule};

/// Eight sums of halves of an array, and a sum of all.
fn program(rt: &mut Runtime) -> Result<(u64, Recording), Error> {
    let sum = rt.register(Kernel::new("sum").read_of::<u64>("from").write_of::<u64>("to").body(|cta| {
        let (from, to) = (cta.read::<u64>(0)?, cta.write::<u64>(1)?);
        to.set(0, (0..from.len()).map(|i| from.get(i)).sum());
        Ok(())
    }))?;
    let numbers = rt.buffer_from(&(0..8000).collect::<Vec<u64>>())?;
    let (parts, all) = (rt.buffer::<u64>(8)?, rt.buffer::<u64>(1)?);
    for part in 0..8 {
        rt.launch(
            sum,
            1,
            1,
            args![numbers.slice(part * 1000..(part + 1) * 1000), parts.slice(part..part + 1)],
        )?;
    }
    let last = rt.launch(sum, 1, 1, args![parts, all])?;
    rt.synchronize()?;
    let recording = rt.recording()?;
    match recording.explain(last) {
        Ok(why) => println!("launch {} waited for {} others", last.0, why.upstream.len()),
        Err(error) => println!("{error}"),
    }
    Ok((rt.read(all)?[0], recording))
}

fn main() -> Result<(), Error> {
    let mut rt = Runtime::builder().executor(Cpu::new(4)?).record(true).build()?;
    let (result, recording) = program(&mut rt)?;
    let mut file = Vec::new();
    recording.schedule.write(&mut file).expect("a vector takes all");

    let schedule = Schedule::read(&*file)?;
    let mut again = Runtime::builder().executor(Cpu::new(1)?).record(true).replay(schedule).build()?;
    let (repeated, second) = program(&mut again)?;
    assert_eq!((result, repeated), (31_996_000, 31_996_000));
    assert!(second.schedule.order().eq(recording.schedule.order()));
    println!("{} events, twice in the same order", second.schedule.events.len());
    Ok(())
}
