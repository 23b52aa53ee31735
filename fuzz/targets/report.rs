//! Files that `windlass report` reads: older reports (JSON) and cell libraries (Liberty).
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use windlass_gen::report::{Format, baseline, figure, html, markdown_with_figures, render};
use windlass_netlist::liberty::Library;

fuzz_target!(|text: &str| {
    let path = Path::new("mine");
    match baseline::parse(text, path) {
        Ok(report) => {
            for format in [Format::Text, Format::Json, Format::Markdown] {
                let shown = render(&report, format).expect("text");
                if format == Format::Json {
                    let again = baseline::parse(&shown, path).expect("what is written can be read");
                    assert_eq!(render(&again, format).expect("text"), shown);
                }
            }
            let _ = (
                html::page(&report, None),
                markdown_with_figures(&report, "figures"),
                figure::figures(&report),
            );
            // It may be worse than itself, where two of its rows have one name.
            let _ = baseline::compare(&report, &report, 5.0);
        }
        Err(error) => assert!(error.to_string().starts_with("mine "), "{error}"),
    }
    match Library::parse(text, path) {
        Ok(library) => {
            let _ = (library.nand2(), library.buffer(), library.smallest_flip_flop());
        }
        Err(error) => assert!(error.to_string().starts_with("`mine`"), "{error}"),
    }
});
