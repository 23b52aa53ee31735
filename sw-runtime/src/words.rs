//! What is said of numbers.

use std::fmt::Display;

/// How many of them: `1 kernel`, `2 kernels`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{end}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_one() {
        assert_eq!([0u64, 1, 2].map(|n| counted(n, "kernel")), ["0 kernels", "1 kernel", "2 kernels"]);
    }
}
