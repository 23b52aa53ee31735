//! What both programs' tests need.

use windlass_runtime::ktrace::{Compression, Reader, Trace, Writer};
use windlass_runtime::runtime::{Cpu, Policy, Runtime};

pub fn runtime(policy: Policy, window: usize, threads: usize) -> Runtime {
    let builder = Runtime::builder().policy(policy).window(window).record(true);
    builder.executor(Cpu::new(threads).unwrap()).build().unwrap()
}

/// The trace of what was run, written and read again.
pub fn recorded(rt: &mut Runtime) -> Trace {
    rt.synchronize().unwrap();
    let trace = rt.recording().unwrap().trace;
    let mut writer = Writer::new(Vec::new(), "trace", &trace.header, Compression::Zstd).unwrap();
    writer.trace(&trace).unwrap();
    let file = writer.finish().unwrap();
    let read = Trace::read(Reader::new(&*file, "trace").unwrap()).unwrap();
    assert_eq!(read, trace);
    read
}
