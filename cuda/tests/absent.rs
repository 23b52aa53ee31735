//! What a machine without CUDA gives; and, with NVRTC, whether the sources compile for GPUs that are not here.

mod support;

use std::sync::Arc;
use windlass_cuda::{CompileError, Cuda, CudaDevice, Options, SOURCES, calibrate, compile};
use windlass_runtime::run::DeviceError;
use windlass_runtime::runtime::{CudaCode, CudaKernel};

#[test]
fn without_a_gpu_everything_says_so() {
    let device = CudaDevice::new(Arc::new(support::program(1, 3, 4096)), Options::default());
    if device.is_ok() {
        eprintln!("SKIPPED: there is a GPU here");
        return;
    }
    let errors =
        [device.err(), Cuda::new(0, 16).err(), calibrate(0).err()].map(|e| e.map(|e| (e.to_string(), e)));
    for error in errors {
        let Some((text, DeviceError::Absent { reason })) = error else { panic!("{error:?}") };
        assert_eq!(text, format!("no CUDA device: {reason}"));
        assert!(!reason.is_empty());
    }
}

#[test]
fn all_sources_compile_for_four_generations() {
    let mut sources: Vec<(String, String)> = SOURCES.map(|(name, text)| (name.into(), text.into())).into();
    for kernel in windlass_kernels::all() {
        let Some(CudaCode::Source { text, .. }) = kernel.cuda_kernel().map(CudaKernel::code) else {
            panic!("{} has no CUDA source", kernel.name());
        };
        // Kernels of one family share their text.
        if !sources.iter().any(|(_, other)| other == text) {
            sources.push((kernel.name().into(), text.to_string()));
        }
    }
    println!("{} sources", sources.len());
    for (name, source) in &sources {
        for arch in [(7, 5), (8, 0), (9, 0), (12, 0)] {
            match compile(source, arch) {
                Ok(cubin) => assert!(cubin.starts_with(b"\x7fELF"), "{name} for {arch:?}"),
                Err(error @ CompileError::Absent { .. }) => {
                    eprintln!("SKIPPED, the CUDA sources are not compiled: {error}");
                    return;
                }
                Err(error) => panic!("{name} for {arch:?}: {error}"),
            }
        }
    }
}

#[test]
fn for_a_gpu_that_nvrtc_does_not_know_there_is_ptx() {
    for arch in [(99, 0), (11, 7)] {
        match compile(SOURCES[0].1, arch) {
            Err(error @ CompileError::Absent { .. }) => return eprintln!("SKIPPED: {error}"),
            Ok(code) => {
                let text = std::str::from_utf8(&code).expect("PTX is text");
                assert!(text.contains(".target sm_") && text.ends_with('\0'), "for {arch:?}: {text:.200}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_does_not_compile_says_where() {
    match compile("extern \"C\" __global__ void f() {\n  nonsense;\n}", (9, 0)) {
        Err(CompileError::Absent { reason }) => eprintln!("SKIPPED: {reason}"),
        Err(CompileError::Source { log, arch, .. }) => {
            assert_eq!(arch, "sm_90");
            assert!(log.contains("(2)") && log.contains("nonsense"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    match compile(SOURCES[0].1, (1, 0)) {
        Err(CompileError::Absent { .. }) => {}
        Err(CompileError::Nvrtc { reason, .. }) => assert!(reason.contains("sm_10"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
