//! Device profiles: no panic, errors that name the file, and what is taken is written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_cosim::profile::Profile;

fuzz_target!(|text: &str| {
    match Profile::parse(text, "mine.toml") {
        Err(errors) => {
            let said = errors.to_string();
            assert!(said.starts_with("mine.toml:"), "{said}");
        }
        Ok(profile) => {
            let again = Profile::parse(&toml::to_string(&profile).expect("it is TOML"), "again.toml");
            assert_eq!(again.as_ref(), Ok(&profile));
            profile.check("mine.toml").expect("it was checked when it was read");
            let _ = profile.sm_params();
            let _ = (profile.cycles(u64::MAX), profile.micros(u64::MAX));
        }
    }
});
