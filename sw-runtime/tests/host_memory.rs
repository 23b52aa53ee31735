//! The memory of the CPU's kernels by itself: small enough for Miri (`scripts/sanitize.sh miri`).

use std::sync::Arc;
use std::thread;
use windlass_runtime::runtime::{ElementKind, HostMemory, Memory};

const KINDS: [ElementKind; 10] = [
    ElementKind::U8,
    ElementKind::I8,
    ElementKind::U16,
    ElementKind::I16,
    ElementKind::U32,
    ElementKind::I32,
    ElementKind::U64,
    ElementKind::I64,
    ElementKind::F32,
    ElementKind::F64,
];

#[test]
fn what_is_written_is_read_in_whole_elements_to_the_last_byte() {
    for kind in KINDS {
        let memory = HostMemory::new(5, kind).unwrap();
        let (size, all) = (kind.bytes(), memory.bytes());
        let mut bytes = vec![1; all];
        memory.read(0, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0), "{kind}");
        let last: Vec<u8> = (0..size).map(|i| 0xF0 + i as u8).collect();
        memory.write((all - size) as u64, &last).unwrap();
        memory.read(0, &mut bytes).unwrap();
        assert_eq!(
            (&bytes[..all - size], &bytes[all - size..]),
            (&vec![0; all - size][..], &last[..]),
            "{kind}"
        );
        for (offset, count) in [(all, size), (all - size, 2 * size), (usize::MAX - size + 1, size)] {
            assert!(memory.write(offset as u64, &vec![0; count]).is_err(), "{kind}, {offset}");
            assert!(memory.read(offset as u64, &mut vec![0; count]).is_err(), "{kind}, {offset}");
        }
        if size > 1 {
            assert!(memory.write(1, &vec![0; size]).is_err(), "{kind}: half an element");
        }
        memory.read(all as u64, &mut []).unwrap();
    }
}

/// Kernels that race get chance and nothing worse; a pointer stays what it is while the memory is read and written otherwise.
#[test]
fn threads_may_race_and_pointers_stay_valid() {
    let memory = Arc::new(HostMemory::new(4, ElementKind::U32).unwrap());
    let first = memory.as_ptr().cast::<u32>();
    let writers: Vec<_> = (1..4u32)
        .map(|n| {
            let memory = memory.clone();
            thread::spawn(move || (0..20).for_each(|_| memory.write(4, &n.to_le_bytes()).unwrap()))
        })
        .collect();
    // SAFETY: inside the memory, which lives; nobody else touches this element meanwhile.
    unsafe { first.write(7) };
    let mut bytes = [0; 4];
    memory.read(4, &mut bytes).unwrap();
    assert!(u32::from_le_bytes(bytes) < 4);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    memory.write(0, &8u32.to_le_bytes()).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { first.read() }, 8);
}
