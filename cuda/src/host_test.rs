//! `footprint.cu` without a GPU: compiled as C++ by the host's compiler, its threads run one after another.

#[path = "../tests/support/mod.rs"]
mod support;

use crate::device::{Arguments, SMALL, pieces, sharing, sums};
use libloading::Library;
use support::{compiled, program};
use windlass_runtime::run::footprint::initial_image;
use windlass_runtime::run::{Program, digest_of};

type Run = unsafe extern "C" fn(*const Arguments, *const [u32; 3], *const [u32; 3], i32);
type Fill = unsafe extern "C" fn(*mut u32, u64);
type Digest = unsafe extern "C" fn(*const u32, u64) -> u64;

fn library() -> Library {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("footprint.so");
    compiled("footprint.cpp", &library);
    // SAFETY: compiled just now from plain functions. Its file may go once it is loaded.
    unsafe { Library::new(&library) }.expect("it can be loaded")
}

fn image(library: &Library, program: &Program, large: bool) -> Vec<u32> {
    // SAFETY: the functions of these names have these types.
    let (run, fill) = unsafe {
        (library.get::<Run>(b"launch").expect("launch"), library.get::<Fill>(b"fill").expect("fill"))
    };
    let mut image = vec![0u32; program.words() as usize];
    // SAFETY: the image has so many words.
    unsafe { fill(image.as_mut_ptr(), program.words()) };
    assert_eq!(image, initial_image(program.words()).unwrap());
    let (table, starts) = pieces(program);
    let addresses = (image.as_mut_ptr().expose_provenance(), table.as_ptr().expose_provenance());
    for (k, kernel) in program.kernels().iter().enumerate() {
        let mut all_sums = vec![0u64; sums(kernel) as usize];
        let mut args = Arguments::new(k as u32, kernel, starts[k], addresses.0 as u64, addresses.1 as u64);
        args.sums = all_sums.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the addresses are those of the image and of the table, which live; the sink is never written.
        unsafe { run(&args, &kernel.grid, &kernel.block, large.into()) };
        assert!(all_sums.iter().all(|sum| *sum == 0), "kernel {k} leaves sums behind");
    }
    // SAFETY: the function of this name has this type; the image has so many words.
    let digest =
        unsafe { library.get::<Digest>(b"digest_of").expect("digest_of")(image.as_ptr(), program.words()) };
    assert_eq!(digest, digest_of(image.iter().copied()));
    image
}

#[test]
fn the_cuda_source_computes_what_the_definition_says() {
    let library = library();
    let mut shared = 0;
    for seed in 0..60 {
        let program = program(seed, 20, 64 << (seed % 9));
        assert!(program.words() < SMALL);
        let wanted = program.serial_image().unwrap();
        shared += program.kernels().iter().filter(|k| sharing(k).0 > 1).count();
        for large in [false, true] {
            assert!(image(&library, &program, large) == wanted, "seed {seed}, 64-bit numbers: {large}");
        }
    }
    println!("{shared} of 1200 kernels share the reading for a word");
    assert!(shared > 50);
}

#[test]
fn the_arguments_are_laid_out_as_in_the_source() {
    // 13 fields of 8 bytes and 8 of 4, without padding; the source's static_assert says the same.
    assert_eq!(size_of::<Arguments>(), 13 * 8 + 8 * 4);
}
