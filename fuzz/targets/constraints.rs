//! Constraint files: no panic, errors that name the file, and the same files made of the same text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use windlass_catalog::{BLOCKS, BlockSpec, Request};
use windlass_gen::constraints::Constraints;
use windlass_rtl::port::Port;

/// Some blocks, and their ports.
fn blocks() -> &'static [(&'static str, Vec<Port>)] {
    static BLOCKS_AND_PORTS: OnceLock<Vec<(&'static str, Vec<Port>)>> = OnceLock::new();
    BLOCKS_AND_PORTS.get_or_init(|| {
        let request = Request { slots: 4, sms: 3, ..Request::default() };
        let specs =
            BLOCKS.iter().filter_map(|block| BlockSpec::new(block, request).ok().map(|s| (*block, s)));
        specs.map(|(block, spec)| (block, spec.ports())).collect()
    })
}

fuzz_target!(|text: &str| {
    let constraints = match Constraints::parse(text, "mine.toml") {
        Ok(constraints) => constraints,
        Err(errors) => {
            assert!(!errors.0.is_empty());
            assert!(errors.to_string().starts_with("mine.toml:"), "{errors}");
            return;
        }
    };
    let _ = constraints.library("osu018_stdcells");
    for (block, ports) in blocks() {
        match constraints.resolve(block, block, ports) {
            Ok(resolved) => {
                let again = constraints.resolve(block, block, ports).expect("as before");
                for library in [None, Some("osu018")] {
                    assert_eq!(resolved.files(library), again.files(library));
                }
                let _ = resolved.timing("osu018_stdcells");
            }
            Err(errors) => assert!(errors.to_string().starts_with("mine.toml:"), "{errors}"),
        }
    }
});
