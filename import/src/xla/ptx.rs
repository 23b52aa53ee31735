//! `*.ptx`: the shared memory that kernels declare themselves, which comes on top of what they are launched with.

use std::collections::HashMap;

/// Name and bytes of `.shared .align 4 .b8 shared_0[4224];`; nothing of `.extern`, whose bytes come with the launch.
fn declaration(line: &str) -> Option<(&str, u64)> {
    let (before, rest) = line.split_once(".shared ")?;
    if before.contains(".extern") || before.contains(';') || !line.ends_with(';') {
        return None;
    }
    let words = rest.trim_end_matches(';').split_whitespace();
    let mut bits = None;
    let mut name = None;
    for word in words {
        match word.strip_prefix(['.']) {
            Some(kind) => bits = kind.trim_start_matches(char::is_alphabetic).parse::<u64>().ok().or(bits),
            None => name = Some(word), // the last one: numbers of `.align 4` are before it
        }
    }
    let (name, length) = name?
        .split_once('[')
        .map_or((name?, 1), |(name, length)| (name, length.trim_end_matches(']').parse().unwrap_or(0)));
    Some((name, (bits? / 8).saturating_mul(length)))
}

/// The words of PTX: names have `$`, `_` and `%` in them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || "_$%".contains(c)))
}

/// Bytes of shared memory per CTA by kernel: of all declarations that its text names.
pub(super) fn shared<'a>(text: &'a str, kernels: &mut HashMap<&'a str, u64>) {
    let mut symbols: HashMap<&str, u64> = HashMap::new();
    let mut kernel = None;
    let mut used = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once(".entry ") {
            kernel = rest.split(['(', ' ']).next();
            kernels.insert(kernel.unwrap_or_default(), 0);
            used.clear();
        } else if let Some((name, bytes)) = declaration(line) {
            symbols.insert(name, bytes);
        } else if let Some(kernel) = kernel {
            for word in words(line) {
                if let Some(bytes) = symbols.get(word).filter(|_| !used.contains(&word)) {
                    used.push(word);
                    let all: &mut u64 = kernels.entry(kernel).or_default();
                    *all = all.saturating_add(*bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_names_counts_once() {
        let text = "
.extern .shared .align 16 .b8 global_smem[];
.shared .align 4 .b8 shared_0[4224];
.shared .align 8 .f64 shared_1[8];
.visible .entry input_transpose_fusion(
\t.param .u64 input_transpose_fusion_param_0
)
.reqntid 128, 1, 1
{
\tmov.u64 \t%rd9, shared_0;
\tst.shared.f32 \t[shared_0+4], %f1;
\tret;
}
.visible .entry both(.param .u64 p) {
\tld.shared.f32 %f1, [shared_0];
\tld.shared.f64 %fd1, [shared_1];
}
.visible .entry dynamic(.param .u64 p) {
\tmov.u64 %rd1, global_smem;
}
";
        let mut kernels = HashMap::new();
        shared(text, &mut kernels);
        assert_eq!(kernels["input_transpose_fusion"], 4224);
        assert_eq!(kernels["both"], 4224 + 64);
        assert_eq!(kernels["dynamic"], 0);
        // No kernel has as much; a text may say so.
        let huge = text.replace("[4224]", "[18446744073709551615]");
        let mut kernels = HashMap::new();
        shared(&huge, &mut kernels);
        assert_eq!(kernels["both"], u64::MAX);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            shared(&text[..end], &mut HashMap::new());
        }
    }
}
