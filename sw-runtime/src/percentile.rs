//! Medians and other percentiles, each a value of the list (nearest rank).

/// Of an ascending list, the value that `percent` of all do not exceed; none of no values.
pub fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

/// The middle one of measurements in any order, of an even number the lower; 0 of none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    percentile(&values, 50).unwrap_or(0.0)
}

/// The same of whole numbers.
pub fn median_u64(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    percentile(&values, 50).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_list() {
        let list: Vec<u32> = (1..=20).collect();
        assert_eq!([0, 50, 95, 99, 100].map(|p| percentile(&list, p)), [1, 10, 19, 20, 20].map(Some));
        assert_eq!((percentile(&[7], 50), percentile::<u32>(&[], 50)), (Some(7), None));
        assert_eq!([vec![3.0, 1.0, 2.0], vec![4.0, 1.0], vec![]].map(median), [2.0, 1.0, 0.0]);
        assert_eq!([vec![3, 1, 2], vec![4, 1], vec![]].map(median_u64), [2, 1, 0]);
    }
}
