//! RTL of one's own: a list of files with what it includes, and the metadata of a folder. No panic, and errors that name the list.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::fs;
use tempfile::TempDir;
use windlass_gen::rtl::{Source, sources};

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// Texts of the files, one after the other, with a NUL between them.
const FILES: [&str; 4] = ["mine.f", "mine.v", "inc/mine.svh", "mine.json"];

fuzz_target!(|text: &str| {
    // A device would be read for ever.
    if text.contains("dev/") || text.contains("proc/") {
        return;
    }
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| {
            let folder = tempfile::tempdir().expect("a folder");
            fs::create_dir(folder.path().join("inc")).expect("a folder");
            folder
        });
        let mut texts = text.split('\0');
        for name in FILES {
            fs::write(folder.path().join(name), texts.next().unwrap_or_default()).expect("written");
        }
        for from in [&folder.path().join("mine.f"), &folder.path().join("mine.v"), folder.path()] {
            match Source::read(from) {
                Ok(source) => {
                    let files = source.files();
                    assert!(sources(files).count() <= files.len());
                    // It is read again alike.
                    assert_eq!(Source::read(from).expect("as before"), source);
                }
                Err(error) => {
                    let named = folder.path().display().to_string();
                    assert!(error.to_string().starts_with(&named), "{error}");
                }
            }
        }
    });
});
