//! Footprint kernels: what each computes shows all that it read, and who ran before whom; and where a stream's bytes are in the image.

#[path = "common/programs.rs"]
mod programs;

use programs::{Random, kernels, program, seed};
use std::collections::BTreeSet;
use windlass_runtime::ktrace::{Kernel, Segment};
use windlass_runtime::run::footprint::{Span, initial_image};
use windlass_runtime::run::{Footprint, Program, Work};

fn words(spans: &[Span]) -> BTreeSet<u64> {
    spans.iter().flat_map(|s| s.start..s.end).collect()
}

/// A program of these kernels, at scale 1.
fn of(kernels: &[Kernel]) -> Program {
    let program = Program::new("these", &[kernels], &vec![Work::default(); kernels.len()], 1);
    program.unwrap_or_else(|e| panic!("{e}"))
}

fn kernel(reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Kernel {
    let list = |list: &[(u64, u64)]| {
        list.iter().map(|(addr, bytes)| Segment { addr: *addr, bytes: *bytes }).collect()
    };
    Kernel { reads: list(reads), writes: list(writes), ..kernels(&mut Random(1), 1).remove(0) }
}

/// The image after one kernel.
fn after(kernel: &Footprint, number: u32, image: &[u32]) -> Vec<u32> {
    let mut image = image.to_vec();
    kernel.run_alone(number, &mut image);
    image
}

#[test]
fn each_word_that_is_read_changes_one_that_is_written_and_no_other_word_matters() {
    let mut random = Random(seed());
    for _ in 0..150 {
        let count = 1 + random.below(20) as usize;
        let program = program(&mut random, count);
        let image = initial_image(program.words()).unwrap();
        for (k, kernel) in program.kernels().iter().enumerate() {
            let (reads, writes) = (words(&kernel.reads), words(&kernel.writes));
            let outputs = |image: &Vec<u32>| kernel.outputs(k as u32, image);
            let want = outputs(&image);
            let written: BTreeSet<u64> = want.iter().map(|(word, _)| *word).collect();
            assert_eq!(written, writes, "kernel {k} writes all of its segments, and nothing else");
            assert_eq!(want.len(), writes.len(), "each word once");
            for word in 0..program.words() {
                let mut other = image.clone();
                // One bit, as well as any.
                other[word as usize] ^= 1 << random.below(32);
                let changed = outputs(&other) != want;
                assert_eq!(changed, reads.contains(&word), "word {word}, kernel {k}: {kernel:?}");
            }
        }
    }
}

#[test]
fn ctas_in_any_order_write_what_the_whole_kernel_writes() {
    let mut random = Random(seed());
    for _ in 0..200 {
        let program = program(&mut random, 8);
        let image = initial_image(program.words()).unwrap();
        for (k, kernel) in program.kernels().iter().enumerate() {
            // In place, a CTA reads what it alone writes; all else that is read, nobody writes.
            let mut ctas: Vec<u64> = (0..kernel.ctas()).collect();
            for n in (1..ctas.len()).rev() {
                ctas.swap(n, random.below(n as u64 + 1) as usize);
            }
            let shared: Vec<_> = image.iter().map(|w| std::sync::atomic::AtomicU32::new(*w)).collect();
            let past = [kernel.ctas(), u64::MAX];
            ctas.iter().chain(&past).for_each(|cta| kernel.run_cta(k as u32, *cta, &shared[..]));
            let found: Vec<u32> = shared.into_iter().map(|w| w.into_inner()).collect();
            assert_eq!(found, after(kernel, k as u32, &image), "kernel {k}, CTAs {ctas:?}");
        }
    }
}

/// RAW, WAR, WAW, in place: two kernels that share a word leave another image when they change places.
#[test]
fn two_kernels_that_change_places_change_the_image() {
    let mut random = Random(seed());
    let mut hazards = 0;
    for _ in 0..4000 {
        let program = program(&mut random, 2);
        let [a, b] = program.kernels() else { panic!("two") };
        let image = initial_image(program.words()).unwrap();
        let forward = after(b, 1, &after(a, 0, &image));
        let backward = after(a, 0, &after(b, 1, &image));
        let (reads, writes) = ([words(&a.reads), words(&b.reads)], [words(&a.writes), words(&b.writes)]);
        let hazard = !writes[0].is_disjoint(&writes[1])
            || !writes[0].is_disjoint(&reads[1])
            || !reads[0].is_disjoint(&writes[1]);
        assert_eq!(forward != backward, hazard, "{a:?} {b:?}");
        hazards += u32::from(hazard);
    }
    println!("{hazards} of 4000 pairs have a hazard");
    assert!((400..3600).contains(&hazards), "{hazards}");
}

#[test]
fn a_kernel_that_writes_nothing_has_a_word_to_show_what_it_read() {
    let program = of(&[kernel(&[(4096, 64)], &[]), kernel(&[], &[(4096, 4)]), kernel(&[(4100, 4)], &[])]);
    assert_eq!(program.words(), 16 + 2);
    let [reader, writer, other] = program.kernels() else { panic!("three") };
    assert_eq!(
        (&reader.writes[..], &other.writes[..]),
        (&[Span { start: 16, end: 17 }][..], &[Span { start: 17, end: 18 }][..])
    );
    let image = initial_image(program.words()).unwrap();
    let in_order = after(writer, 1, &after(reader, 0, &image));
    assert_ne!(in_order, after(reader, 0, &after(writer, 1, &image)));
    // And one that touches nothing at all runs, too.
    assert_eq!(of(&[kernel(&[], &[])]).words(), 1);
}

#[test]
fn an_update_in_place_shows_how_often_and_after_whom() {
    let program = of(&[kernel(&[(4096, 64)], &[(4096, 64)])]);
    let kernel = &program.kernels()[0];
    assert!(kernel.write_pieces.iter().all(|p| p.in_place) && kernel.read_pieces.is_empty());
    let image = initial_image(program.words()).unwrap();
    let once = after(kernel, 0, &image);
    assert_ne!(once, after(kernel, 0, &once), "twice is not once");
    assert_ne!(once, after(kernel, 1, &image), "each kernel of a program computes something else");
}

/// At any scale and alignment: what two segments share, and nothing else, is what their words share.
#[test]
fn segments_share_words_where_and_only_where_they_share_bytes() {
    let mut random = Random(seed());
    for _ in 0..600 {
        let span = 1 + random.below(3000);
        let most = if random.below(2) == 0 { 8 } else { 5000 };
        let scale = 1 + random.below(most);
        let mut segments: Vec<Segment> = (0..1 + random.below(30))
            .map(|_| Segment { addr: 1000 + random.below(span), bytes: 1 + random.below(400) })
            .collect();
        let many = segments.len();
        // And what each two share, as segments of their own: they move no end, so that all else stays where it is.
        for a in 0..many {
            for b in 0..a {
                let (addr, end) =
                    (segments[a].addr.max(segments[b].addr), segments[a].end().min(segments[b].end()));
                if addr < end {
                    segments.push(Segment { addr, bytes: end - addr });
                }
            }
        }
        let all: Vec<Kernel> = segments.iter().map(|s| kernel(&[], &[(s.addr, s.bytes)])).collect();
        let program = Program::new("layout", &[&all], &vec![Work::default(); all.len()], scale);
        let program = program.unwrap_or_else(|e| panic!("{e}"));
        let span = |n: usize| program.kernels()[n].writes[0];
        let mut shared = many;
        for a in 0..many {
            // As many words as it takes, and few more: each end of a segment inside it may round one up.
            let least = segments[a].bytes.div_ceil(4).div_ceil(scale);
            assert!((least..=least + 4 * many as u64).contains(&span(a).len()), "{segments:?} / {scale}");
            for b in 0..a {
                let (start, end) = (span(a).start.max(span(b).start), span(a).end.min(span(b).end));
                if segments[a].addr.max(segments[b].addr) < segments[a].end().min(segments[b].end()) {
                    assert_eq!(span(shared), Span { start, end }, "{segments:?} / {scale}");
                    assert!(!span(shared).is_empty());
                    shared += 1;
                } else {
                    assert!(start >= end, "{segments:?} / {scale}");
                }
            }
        }
        let bytes: BTreeSet<u64> = segments.iter().flat_map(|s| s.addr..s.end()).collect();
        assert_eq!(program.stream_bytes(), bytes.len() as u64);
    }
}

#[test]
fn what_cannot_be_a_program_says_why() {
    let kernels = [kernel(&[(4096, 1 << 40)], &[(0, 64)])];
    let error =
        |scale, work: &[Work]| Program::new("t", &[&kernels], work, scale).expect_err("too much").to_string();
    assert!(error(0, &[Work::default()]).contains("choose 1"));
    assert!(error(1, &[]).contains("there are 1 kernels, but the work of 0"));
    let text = error(2, &[Work::default()]);
    assert!(!text.contains("--"), "no command line is here: {text}");
    let needed: u64 =
        text.split("a scale of ").nth(1).and_then(|t| t.split(' ').next()?.parse().ok()).expect("a number");
    assert!(needed > 2 && Program::new("t", &[&kernels], &[Work::default()], needed).is_ok(), "{text}");
}

/// Kernels that read nothing, over tiles of one buffer: the values of any two differ wherever both write.
#[test]
fn no_two_kernels_write_the_same_values() {
    let tiles: Vec<Kernel> = (0..64).map(|k| kernel(&[], &[(4096 + 4 * 8 * (k % 8), 4 * 64)])).collect();
    let program = of(&tiles);
    let image = initial_image(program.words()).unwrap();
    let outputs: Vec<_> =
        program.kernels().iter().enumerate().map(|(k, f)| f.outputs(k as u32, &image)).collect();
    let mut values: Vec<u32> = outputs.iter().flatten().map(|(_, value)| *value).collect();
    let count = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!((values.len(), count), (64 * 64, 64 * 64), "kernel and word are both in each value");
}
