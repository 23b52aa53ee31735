//! The CUDA texts without a GPU: compiled as C++ by the host's compiler, run by an executor of their own. Shows wrong indices, missing
//! barriers, an order that nothing promises and what is written outside a buffer; not what only a GPU does: PTX, and its rounding.

use libloading::{Library, Symbol};
use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use windlass_kernels::{all, dynamic_network, random_checks, rigid_body, self_checks};
use windlass_runtime::runtime::{
    Allocator, Cause, Completions, CudaCode, CudaKernel, ElementKind, Executor, Memory, Runtime, Started,
    Task,
};

/// Words on both sides of a buffer that nobody may write: NaN, and an index that is nowhere.
const GUARD: usize = 1 << 12;

/// Words, for all elements of this crate have four bytes.
#[derive(Debug)]
struct Words(Vec<AtomicU32>);

impl Words {
    fn at(&self, offset: u64, bytes: usize) -> &[AtomicU32] {
        &self.0[GUARD + offset as usize / 4..][..bytes / 4]
    }

    fn is_intact(&self) -> bool {
        let (before, after) = (&self.0[..GUARD], &self.0[self.0.len() - GUARD..]);
        before.iter().chain(after).all(|word| word.load(Ordering::Relaxed) == u32::MAX)
    }
}

impl Memory for Words {
    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), String> {
        let words = self.at(offset, to.len());
        for (word, to) in words.iter().zip(to.chunks_exact_mut(4)) {
            to.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        Ok(())
    }

    fn write(&self, offset: u64, from: &[u8]) -> Result<(), String> {
        for (word, from) in self.at(offset, from.len()).iter().zip(from.chunks_exact(4)) {
            word.store(u32::from_le_bytes([from[0], from[1], from[2], from[3]]), Ordering::Relaxed);
        }
        Ok(())
    }
}

struct Guarded;

impl Allocator for Guarded {
    fn allocate(&self, elements: usize, element: ElementKind) -> Result<Arc<dyn Memory>, String> {
        assert_eq!(element.bytes(), 4);
        let inside = GUARD..GUARD + elements;
        let word = |i| AtomicU32::new(if inside.contains(&i) { 0 } else { u32::MAX });
        Ok(Arc::new(Words((0..elements + 2 * GUARD).map(word).collect())))
    }
}

type Launch = unsafe extern "C" fn(u32, u32, *mut *mut c_void);

/// Runs a kernel's CUDA text where it stands.
struct Host {
    library: Library,
    /// Names of the launching functions.
    functions: HashMap<String, String>,
}

impl Host {
    /// All texts in one file, each in a namespace of its own, as for GPUs of one generation, such as 800.
    fn new(arch: u32) -> Self {
        let mut text = format!("#define __CUDA_ARCH__ {arch}\n{}", include_str!("cuda_on_host/cuda.h"));
        let (mut functions, mut spaces) = (HashMap::new(), HashMap::new());
        for kernel in all() {
            let Some(CudaCode::Source { text: source, entry }) = kernel.cuda_kernel().map(CudaKernel::code)
            else {
                panic!("{} has no CUDA source", kernel.name());
            };
            let next = spaces.len();
            let space = *spaces.entry(source.to_string()).or_insert_with(|| {
                let mut body = source.replace("extern \"C\" ", "");
                if let Some(asm) = body.find("__device__ unsigned round_to_tf32") {
                    let end = body.find("#else").expect("older GPUs have no such PTX");
                    body.replace_range(asm..end, "using namespace ptx;\n");
                }
                writeln!(text, "#undef RESULT\nnamespace text{next} {{\n{body}\n}}")
                    .expect("a string takes all");
                next
            });
            let name = format!("launch_{}", kernel.name());
            writeln!(
                text,
                "extern \"C\" void {name}(unsigned ctas, unsigned threads, void **args) {{ launch(text{space}::{entry}, args, ctas, threads); }}"
            )
            .expect("a string takes all");
            functions.insert(kernel.name().to_string(), name);
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (file, library) = (folder.path().join("kernels.cpp"), folder.path().join("kernels.so"));
        std::fs::write(&file, text).expect("the folder can be written");
        let compiler = std::env::var("CXX").unwrap_or("g++".into());
        let done = Command::new(&compiler)
            // The C library has an `advance` of its own.
            .args(["-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o"])
            .args([&library, &file])
            .output();
        let done = done.unwrap_or_else(|e| panic!("{compiler}: {e}; run scripts/setup.sh"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        // SAFETY: compiled just now from plain functions. Its file may go once it is loaded.
        let library = unsafe { Library::new(&library) }.expect("it can be loaded");
        Self { library, functions }
    }
}

impl Executor for Host {
    fn name(&self) -> String {
        "CUDA on the host".into()
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(Guarded)
    }

    fn connect(&mut self, _: Completions) {}

    fn start(&mut self, task: Task<'_>) -> Started {
        let (mut values, mut buffers) = (Vec::new(), Vec::new());
        for arg in 0..task.arguments() {
            if let Some((bits, _)) = task.value(arg) {
                values.push(bits);
                continue;
            }
            let (memory, offset, bytes) = task.buffer(arg).expect("it is there");
            let words = (memory.clone() as Arc<dyn Any + Send + Sync>).downcast::<Words>().expect("ours");
            values.push(words.at(offset, bytes as usize).as_ptr().expose_provenance() as u64);
            buffers.push(words);
        }
        let mut args: Vec<*mut c_void> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        let (grid, block) = task.dimensions();
        assert_eq!((&grid[1..], &block[1..]), (&[1, 1][..], &[1, 1][..]), "one dimension is enough so far");
        // SAFETY: the function has this type. There is an argument for each parameter, of its kind, as another test shows; buffers
        // live until it returns, and are only used as words, which are atomic integers to us.
        unsafe {
            let launch: Symbol<'_, Launch> =
                self.library.get(self.functions[task.name()].as_bytes()).expect("each kernel has one");
            launch(grid[0], block[0], args.as_mut_ptr());
        }
        let intact = buffers.iter().all(|words| words.is_intact());
        Started::Ended(if intact { Ok(()) } else { Err(Cause::Executor("it wrote outside a buffer".into())) })
    }
}

/// In one test: the library keeps its threads in variables that all share.
#[test]
fn cuda_texts_compute_what_the_cpu_does() {
    let mut older = Runtime::builder().executor(Host::new(750)).build().unwrap();
    let older_checks = self_checks(&mut older).unwrap();
    drop(older);
    let mut host = Runtime::builder().executor(Host::new(800)).build().unwrap();
    let mut cpu = Runtime::builder().build().unwrap();
    let mut checks = self_checks(&mut host).unwrap();
    checks.extend(older_checks);
    for seed in 0..4 {
        checks.extend(random_checks(&mut host, seed).unwrap());
    }
    host.synchronize().unwrap();
    let failed: Vec<_> = checks.iter().filter(|check| !check.passes()).map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{failed:#?}");

    // An index that is nowhere: zeros, and nothing.
    let kernels = windlass_kernels::Library::register(&mut host).unwrap();
    let x = host.buffer_from(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let (index, y) = (host.buffer_from(&[1u32, 2]).unwrap(), host.buffer_from(&[9.0f32; 4]).unwrap());
    kernels.gather_rows(&mut host, x, index, y, [2, 2, 2]).unwrap();
    assert_eq!(host.read(y).unwrap(), [3.0, 4.0, 0.0, 0.0]);
    kernels.scatter_rows(&mut host, x, index, y, [2, 2, 2]).unwrap();
    assert_eq!(host.read(y).unwrap(), [3.0, 4.0, 1.0, 2.0]);

    let config = dynamic_network::Config::new(1, 3, 2);
    let (a, b) = [&mut host, &mut cpu].map(|rt| dynamic_network::run(rt, &config).unwrap()).into();
    assert_eq!((a.branches, a.experts), (b.branches, b.experts));
    assert!(a.scores.iter().zip(&b.scores).all(|(a, b)| (a - b).abs() < 1e-5));

    let config = rigid_body::Config::new(rigid_body::heaps(2, 3, 1), 40);
    let (a, b) = [&mut host, &mut cpu].map(|rt| rigid_body::run(rt, &config).unwrap()).into();
    for (a, b) in a.bodies.iter().zip(&b.bodies) {
        assert!((0..3).all(|axis| (a.position[axis] - b.position[axis]).abs() < 1e-3), "{a:?} {b:?}");
    }
}
