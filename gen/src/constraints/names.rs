//! Names, patterns, and names that look alike.

/// Whether `pattern`, in which `*` stands for any characters, is all of `name`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, middle) = parts.split_last().unwrap_or((&"", &[]));
    for part in middle {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

/// `ret_slot_2_i` as `ret_slot_#_i`: the ports of one array look the same.
pub(super) fn without_numbers(name: &str) -> String {
    let words = name
        .split('_')
        .map(|word| if !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) { "#" } else { word });
    words.collect::<Vec<_>>().join("_")
}

/// At most three of `names` that are `wanted` with a slip or two, the best first.
pub(super) fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let most = (wanted.chars().count() / 4).max(2);
    let mut found: Vec<(usize, &str)> =
        names.into_iter().map(|name| (distance(wanted, name), name)).filter(|(d, _)| *d <= most).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(3).map(|(_, name)| name.to_string()).collect()
}

/// Letters to add, drop, change or swap with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1);
            best = best.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_characters() {
        for (pattern, name, is) in [
            ("a_i", "a_i", true),
            ("a_i", "a_ii", false),
            ("*_i", "clk_i", true),
            ("*_i", "clk_o", false),
            ("ret_*_i", "ret_slot_0_i", true),
            ("ret_*_i", "ret_i", false),
            ("ret_*_*_i", "ret_slot_0_i", true),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn slips_are_found_and_others_are_not() {
        let names = ["ins_valid_i", "ins_ready_o", "disp_valid_o"];
        assert_eq!(near("ins_vaild_i", names), ["ins_valid_i"]);
        assert_eq!(near("nothing_like_it", names), [""; 0]);
        assert_eq!(distance("abc", "acb"), 1);
    }

    #[test]
    fn numbers_are_words() {
        assert_eq!(without_numbers("ret_slot_12_i"), "ret_slot_#_i");
        assert_eq!(without_numbers("sm12_i"), "sm12_i");
    }
}
