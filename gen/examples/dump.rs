//! Prints a block's Verilog.
use windlass_rtl::catalog::{BlockSpec, Request};
use windlass_rtl::params::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut r = Request { slots: a[2].parse().unwrap(), ..Request::default() };
    if a.get(3).is_some_and(|w| w.contains("list")) {
        r.window = WindowKind::List;
    }
    if a.get(3).is_some_and(|w| w.contains("mask")) {
        r.encoding = Encoding::Mask;
    }
    let s = BlockSpec::new(&a[1], r).unwrap();
    match windlass_gen::emit::emit(&*s.hardware()) {
        Ok(d) => print!("{}", d.verilog()),
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    }
}
