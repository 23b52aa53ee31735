//! What callers see: errors, explanations, the paper's miss, sizes.

use windlass_hazards::*;

fn slots(set: Slots<'_>) -> Vec<u16> {
    set.iter().map(|s| s.0).collect()
}

/// One of each kind of window; under Miri, which is slow, of each kind of code.
const KINDS: &[usize] = if cfg!(miri) { &[4, 64, 600] } else { &[4, 64, 128, 256, 512, 4096] };

#[test]
fn the_strict_mode_misses_raw() {
    let run = |rule| {
        let mut config = Config::new(32);
        config.rule = rule;
        let mut engine = Engine::with_config(&config).unwrap();
        let buffer = engine.declare(1024).unwrap();
        engine.insert(&[], &[buffer.into()]).unwrap();
        slots(engine.insert(&[buffer.into()], &[]).unwrap().upstream)
    };
    assert_eq!(run(Rule::Exact), [0]);
    assert_eq!(run(Rule::StrictAlgorithm1), [0u16; 0]);
}

#[test]
fn a_set_of_slots_is_the_same_by_every_question() {
    for &window in KINDS {
        let mut engine = Engine::new(window).unwrap();
        let writers: Vec<_> = (0..window.min(300))
            .map(|_| {
                let buffer = engine.declare(64).unwrap();
                (buffer, engine.insert(&[], &[buffer.into()]).unwrap().slot)
            })
            .collect();
        // Every third, so that neighbours differ; the last one leaves to make room.
        let (chosen, others): (Vec<_>, Vec<_>) =
            writers[..writers.len() - 1].iter().partition(|(_, slot)| slot.0 % 3 == 0);
        engine.retire(writers[writers.len() - 1].1).unwrap();
        let reads: Vec<Access> = chosen.iter().map(|(buffer, _)| (*buffer).into()).collect();
        let upstream = engine.insert(&reads, &[]).unwrap().upstream;
        assert_eq!(upstream.len(), chosen.len(), "{window}");
        assert_eq!(upstream.is_empty(), chosen.is_empty(), "{window}");
        assert!(chosen.iter().all(|(_, slot)| upstream.contains(*slot)), "{window}");
        assert!(!others.iter().any(|(_, slot)| upstream.contains(*slot)), "{window}");
        assert!(!upstream.contains(Slot(u16::MAX)), "{window}");
    }
}

#[test]
fn hazards_are_explained() {
    for &window in KINDS {
        let mut engine = Engine::new(window).unwrap();
        let (a, b) = (engine.declare_at(0x1000, 256).unwrap(), engine.declare(64).unwrap());
        let old = engine.insert(&[b.into()], &[Access::view(a, 0, 100)]).unwrap().slot;
        let new = engine.insert(&[Access::raw(0x1040, 8)], &[b.into(), Access::view(a, 99, 9)]).unwrap().slot;
        let text: Vec<_> = engine.explain(old, new).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(text[0], "RAW on 8 bytes at 0x1040");
        assert_eq!(text[1], format!("WAR on 64 bytes at offset 0 of buffer {:#X}", b.to_bits()));
        assert_eq!(text[2], "WAW on 1 byte at 0x1063");
        assert_eq!(text.len(), 3);
        engine.retire(old).unwrap();
        assert_eq!(engine.explain(old, new), Err(Error::NotInFlight { slot: old }));
    }
}

#[test]
fn a_hazard_on_more_than_2_gib_is_one() {
    for &window in KINDS {
        let mut config = Config::new(window);
        config.spill = 12;
        let mut engine = Engine::with_config(&config).unwrap();
        let bytes = 5 << 30;
        let (a, b) = (engine.declare_at(0x1000, bytes).unwrap(), engine.declare(bytes).unwrap());
        // Side by side, and not one.
        let [c, d] = [(); 2].map(|()| engine.declare(64).unwrap());
        let old = engine.insert(&[c.into(), d.into()], &[a.into(), b.into()]).unwrap().slot;
        let reads = [Access::raw(0x1001, bytes - 1), Access::view(b, 1 << 31, 3 << 30), b.into()];
        let new = engine.insert(&reads, &[c.into(), d.into()]).unwrap().slot;
        let hazard = |class, shared| Hazard { class, shared };
        let part = |buffer: Buffer, offset, bytes| Shared::Offset { buffer: buffer.to_bits(), offset, bytes };
        let found = engine.explain(old, new).unwrap();
        let raw = [Shared::Address { addr: 0x1001, bytes: bytes - 1 }, part(b, 0, bytes)];
        assert!(raw.into_iter().all(|shared| found.contains(&hazard(Class::Raw, shared))), "{found:?}");
        let war = [c, d].map(|buffer| hazard(Class::War, part(buffer, 0, 64)));
        assert_eq!(found[found.len() - 2..], war);
    }
}

#[test]
fn one_byte_decides() {
    for window in KINDS.iter().map(|window| *window.max(&8)) {
        let mut engine = Engine::new(window).unwrap();
        let buffer = engine.declare_at(1 << 40, 3 << 32).unwrap();
        // Around the border of two regions of a buffer.
        let edge = 1u64 << 32;
        let first = engine.insert(&[], &[Access::view(buffer, edge - 8, 16)]).unwrap().slot;
        for (offset, bytes, waits) in
            [(edge - 16, 8, false), (edge - 16, 9, true), (edge + 7, 1, true), (edge + 8, 8, false)]
        {
            let upstream =
                slots(engine.insert(&[Access::view(buffer, offset, bytes)], &[]).unwrap().upstream);
            assert_eq!(upstream, if waits { vec![first.0] } else { vec![] }, "{offset} {bytes}");
        }
        // All of it, and none of it.
        assert_eq!(slots(engine.insert(&[buffer.into()], &[]).unwrap().upstream), [first.0]);
        assert!(engine.insert(&[], &[Access::view(buffer, edge, 0)]).unwrap().upstream.is_empty());
    }
}

#[test]
fn an_unknown_range_may_touch_anything_and_is_said_once() {
    for &window in KINDS {
        let mut engine = Engine::new(window).unwrap();
        let buffer = engine.declare_at(0x1000, 0x1000).unwrap();
        let reader = engine.insert(&[buffer.into()], &[]).unwrap().slot;
        assert_eq!(engine.take_unknown(), None);
        // Partly known is not known.
        let unknown = engine.insert(&[], &[Access::raw(0x1FF0, 0x20)]).unwrap();
        assert_eq!(slots(unknown.upstream), [reader.0]);
        let unknown = unknown.slot;
        let range = UnknownRange { addr: 0x1FF0, bytes: 0x20 };
        assert!(range.to_string().starts_with("32 bytes at 0x1FF0 are not all in declared buffers"));
        assert_eq!(engine.take_unknown(), Some(range));
        let next = engine.insert(&[Access::raw(0x9000, 8)], &[]).unwrap();
        assert_eq!(slots(next.upstream), [unknown.0]);
        let next = next.slot;
        assert_eq!(engine.take_unknown(), None, "said twice");
        let hazard = Hazard { class: Class::Raw, shared: Shared::Unknown };
        assert_eq!(engine.explain(unknown, next), Ok(vec![hazard]));
        assert_eq!(slots(engine.retire(reader).unwrap()), [unknown.0]);
        assert_eq!(slots(engine.retire(unknown).unwrap()), [next.0]);
        engine.retire(next).unwrap();
        // Back to the exact rule.
        engine.insert(&[buffer.into()], &[]).unwrap();
        assert!(engine.insert(&[buffer.into()], &[]).unwrap().upstream.is_empty());
    }
}

#[test]
fn errors_change_nothing_and_name_the_remedy() {
    assert_eq!(Engine::new(3).unwrap_err(), Error::Window { got: 3 });
    assert_eq!(Engine::new(4097).unwrap_err().to_string(), "a window of 4097 kernels; choose 4 to 4096");
    for &window in KINDS {
        let mut config = Config::new(window);
        config.spill = 12;
        let mut engine = Engine::with_config(&config).unwrap();
        let a = engine.declare_at(0x1000, 0x100).unwrap();
        let b = engine.declare(0x100).unwrap();
        let overlap = Error::Overlaps { addr: 0x1000, bytes: 0x100 };
        assert_eq!(engine.declare_at(0x10FF, 1), Err(overlap));
        assert_eq!(engine.declare_at(0xF00, 0x1000), Err(overlap));
        assert_eq!(engine.declare_at(0x2000, 0), Err(Error::EmptyBuffer));
        assert_eq!(engine.declare(1 << 50), Err(Error::TooManyBuffers));
        assert!(matches!(engine.declare_at(u64::MAX, 2), Err(Error::RangeOverflow { .. })));
        let mut refused = |reads: &[Access], writes: &[Access]| engine.insert(reads, writes).unwrap_err();
        assert!(matches!(refused(&[a.into()], &[Access::raw(u64::MAX, 1)]), Error::RangeOverflow { .. }));
        let bounds = Error::OutOfBounds { offset: 0x80, bytes: 0x81, size: 0x100 };
        assert_eq!(refused(&[a.into()], &[Access::view(a, 0x80, 0x81)]), bounds);
        assert!(matches!(refused(&[], &[Access::view(a, u64::MAX, 2)]), Error::OutOfBounds { .. }));
        let bits = 77 << 32;
        assert_eq!(
            refused(&[a.into()], &[Buffer::from_bits(bits).into()]),
            Error::UnknownBuffer { buffer: bits }
        );
        // As many bits as name a buffer, and some that no buffer has.
        for kind in [1u64, 2, 3, 0xFFFF] {
            let forged = Buffer::from_bits(b.to_bits() | kind << 16);
            for access in [forged.into(), Access::view(forged, 0, 8)] {
                assert!(matches!(refused(&[access], &[]), Error::UnknownBuffer { .. }), "{kind} {access:?}");
            }
        }
        // Where the engine keeps buffers without an address is nobody's to name.
        for access in [Access::raw(1 << 63, 8), Access::raw((1 << 63) + 1, 1), Access::raw((1 << 63) - 1, 2)]
        {
            assert!(matches!(refused(&[access], &[]), Error::RangeOverflow { .. }), "{access:?}");
        }
        assert_eq!(refused(&[a.into(); 300], &[]), Error::TooManySegments);
        assert!(matches!(refused(&[a.into(); 100], &[]), Error::SpillFull { segments: 100, .. }));
        let mut unknown = [a.into(); 100];
        unknown[0] = Access::raw(0x8000, 1);
        assert!(matches!(refused(&unknown, &[]), Error::SpillFull { segments: 99, .. }));
        assert!(matches!(refused(&unknown[..1], &[Access::view(a, 0x80, 0x81)]), Error::OutOfBounds { .. }));
        // Nothing of these stayed.
        assert_eq!(engine.take_unknown(), None);
        assert!(engine.is_empty());
        let first = engine.insert(&[], &[a.into()]).unwrap();
        assert!(first.upstream.is_empty());
        let first = first.slot;
        let second = engine.insert(&[a.into()], &[]).unwrap().slot;
        assert_eq!(engine.release(a), Err(Error::InUse));
        assert_eq!(engine.retire(second).unwrap_err(), Error::NotReady { slot: second, waits_for: 1 });
        for slot in [3, 5000, u16::MAX].map(Slot) {
            assert_eq!(engine.retire(slot).unwrap_err(), Error::NotInFlight { slot });
        }
        assert_eq!(slots(engine.retire(first).unwrap()), [second.0]);
        engine.retire(second).unwrap();
        engine.release(a).unwrap();
        assert!(matches!(engine.release(a), Err(Error::UnknownBuffer { .. })));
        assert!(matches!(engine.insert(&[a.into()], &[]), Err(Error::UnknownBuffer { .. })));
        let again = engine.declare_at(0x1000, 0x100).unwrap();
        assert_ne!(again, a, "an old handle must not come back");
        for _ in 0..window {
            engine.insert(&[b.into()], &[]).unwrap();
        }
        assert_eq!(engine.insert(&[b.into()], &[]).unwrap_err(), Error::Full { slots: window });
    }
}

#[test]
fn edges_run_out_and_come_back() {
    let mut config = Config::new(1000);
    config.edges = 2;
    let mut engine = Engine::with_config(&config).unwrap();
    let buffer = engine.declare(64).unwrap();
    let readers: Vec<_> = (0..3).map(|_| engine.insert(&[buffer.into()], &[]).unwrap().slot).collect();
    assert_eq!(engine.insert(&[], &[buffer.into()]).unwrap_err(), Error::EdgesFull { needed: 3, free: 2 });
    engine.retire(readers[0]).unwrap();
    assert_eq!(engine.insert(&[], &[buffer.into()]).unwrap().upstream.len(), 2);
    config.edges = 65535;
    assert!(Engine::with_config(&config).is_ok());
    config.edges = 65536;
    assert_eq!(Engine::with_config(&config).unwrap_err(), Error::Edges { got: 65536, max: 65535 });
}

#[test]
fn beyond_512_covered_accesses_need_no_edge() {
    let mut engine = Engine::new(1000).unwrap();
    let buffer = engine.declare(64).unwrap();
    for _ in 0..100 {
        engine.insert(&[], &[buffer.into()]).unwrap();
    }
    assert_eq!(slots(engine.insert(&[buffer.into()], &[]).unwrap().upstream), [99]);
}

#[test]
fn a_kernel_in_flight_takes_at_most_128_bytes() {
    for window in [4, 8, 16, 32, 64, 128, 256, 512, 513, 1024, 2048, 4096] {
        let engine = Engine::new(window).unwrap();
        let (slots, spill) = engine.window_bytes();
        // Up to 512, slots come in 32, 64, 128, 256 and 512.
        let there = if window > 512 { window } else { window.next_power_of_two().max(32) };
        let bytes = slots as f64 / there as f64;
        println!(
            "W = {window}: {bytes:.1} bytes per slot with {} segments, {there} slots; spill pool {spill} bytes",
            engine.inline_segments()
        );
        assert!(bytes <= 128.0, "{bytes}");
    }
}
