//! From points to what to build: means, Pareto fronts, and the sentence.

use serde::Serialize;
use windlass_gen::report::figure;

/// Speed-ups that differ by less are equal, and a gain below it is none.
const SAME: f64 = 0.0005;

/// [`figure::geometric_mean`], to six digits.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    figure::geometric_mean(values).map(|mean| super::round(mean, 6))
}

/// Which points, (value, cost), no other point beats: more value for no more cost, or less cost for no less value. Points that are
/// equal in both are both on the front or both not; a point that lacks a number is not.
pub fn front(points: &[Option<(f64, f64)>]) -> Vec<bool> {
    let beats =
        |(v, c): (f64, f64), (value, cost): (f64, f64)| v >= value && c <= cost && (v > value || c < cost);
    let known = || points.iter().flatten();
    points.iter().map(|point| point.is_some_and(|p| !known().any(|other| beats(*other, p)))).collect()
}

/// A design that ran on all workloads.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What the sentence calls it.
    pub name: String,
    /// Slots: its size where no area is known.
    pub slots: usize,
    /// Mean speed-up over a queue in hardware that runs kernels in order.
    pub over_queue: f64,
    /// Area, in any unit.
    pub area: Option<f64>,
}

/// What to build.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// SMs of the designs.
    pub sms: u32,
    /// One sentence.
    pub sentence: String,
    /// Place in the list of points of the design to build, if one is worth it.
    pub build: Option<usize>,
    /// Place of the fastest design.
    pub fastest: Option<usize>,
}

/// The smallest design that keeps `keep` of the gain of the fastest: the text after "for these workloads, ", and the places in
/// `candidates` of that design and of the fastest of all. Ties go to the faster, then to the first. Where some have an area, those without
/// have no size and are not compared; the text says so, and names one that is faster than all that are.
pub fn advise(candidates: &[Candidate], keep: f64) -> (String, Option<usize>, Option<usize>) {
    let by_area = candidates.iter().any(|c| c.area.is_some());
    let without: Vec<usize> =
        (0..candidates.len()).filter(|i| by_area && candidates[*i].area.is_none()).collect();
    let speedup = |i: &usize| candidates[*i].over_queue;
    let sized = (0..candidates.len()).filter(|i| !without.contains(i));
    let best = sized.map(|i| speedup(&i)).fold(f64::NEG_INFINITY, f64::max);
    let faster = without
        .iter()
        .copied()
        .filter(|i| speedup(i) - best >= SAME)
        .min_by(|a, b| speedup(b).total_cmp(&speedup(a)).then(a.cmp(b)));
    let (mut text, build, fastest) = compare(candidates, keep, by_area, faster.is_some());
    match without.len() {
        0 => {}
        1 => text += "; 1 design has no area and is not compared",
        n => text += &format!("; {n} designs have no area and are not compared"),
    }
    if let Some(faster) = faster {
        let name = &candidates[faster].name;
        text += &format!(
            ", though {name} is faster ({:.2} times as fast as an in-order queue)",
            speedup(&faster)
        );
    }
    (text, build, faster.or(fastest))
}

/// [`advise`] among the designs that have a size; `faster`: one without is faster.
fn compare(
    candidates: &[Candidate],
    keep: f64,
    by_area: bool,
    faster: bool,
) -> (String, Option<usize>, Option<usize>) {
    let the_fastest = if faster { "the fastest with an area" } else { "the fastest" };
    let size = |i: usize| {
        if by_area { candidates[i].area.unwrap_or(f64::INFINITY) } else { candidates[i].slots as f64 }
    };
    let (what, less, least) = match by_area {
        true => ("area", "less area", "smallest"),
        false => ("slots", "fewer slots", "one with the fewest slots"),
    };
    let all: Vec<usize> = (0..candidates.len()).filter(|i| size(*i).is_finite()).collect();
    let speedup = |i: usize| candidates[i].over_queue;
    let name = |i: usize| candidates[i].name.as_str();
    let fastest = all.iter().copied().min_by(|a, b| {
        speedup(*b).total_cmp(&speedup(*a)).then(size(*a).total_cmp(&size(*b))).then(a.cmp(b))
    });
    let Some(fastest) = fastest else {
        return ("no design ran on all of them: there is nothing to compare".into(), None, None);
    };
    let best = speedup(fastest);
    let gain = best - 1.0;
    let smallest_of = |which: &mut dyn Iterator<Item = usize>| {
        which.min_by(|a, b| {
            size(*a).total_cmp(&size(*b)).then(speedup(*b).total_cmp(&speedup(*a))).then(a.cmp(b))
        })
    };
    let only = if by_area && candidates.len() > 1 {
        "the only design with an area"
    } else {
        "the only design explored"
    };
    if gain < SAME {
        let verdict =
            if gain > -SAME { "no faster than an in-order queue" } else { "slower than an in-order queue" };
        let which = if all.len() == 1 { only } else { the_fastest };
        let text = format!("build none: {}, {which}, is {verdict} ({best:.3} times)", name(fastest));
        return (text, None, Some(fastest));
    }
    if all.len() == 1 {
        let text = format!(
            "{} is {best:.2} times as fast as an in-order queue; it is {only}, so there is nothing to compare it with",
            name(fastest)
        );
        return (text, Some(fastest), Some(fastest));
    }
    let kept = |i: usize| speedup(i) - 1.0 >= keep * gain - 1e-9;
    let build = smallest_of(&mut all.iter().copied().filter(|i| kept(*i))).unwrap_or(fastest);
    let smallest = smallest_of(&mut all.iter().copied()).unwrap_or(fastest);
    let share = |i: usize, of: usize| percent(size(i) / size(of));
    let slowest = all.iter().map(|i| speedup(*i)).fold(f64::INFINITY, f64::min);
    let text = if best - slowest < SAME {
        let largest =
            all.iter().copied().max_by(|a, b| size(*a).total_cmp(&size(*b)).then(b.cmp(a))).unwrap_or(build);
        let text = format!(
            "all {} designs are {best:.2} times as fast as an in-order queue: {} is the {least}",
            all.len(),
            name(build)
        );
        if size(largest) > size(build) {
            format!("{text}, with {} of the {what} of {}", share(build, largest), name(largest))
        } else {
            text
        }
    } else if build != fastest {
        format!(
            "{} gets {} of the gain at {} of the {what} of {} ({:.2} and {best:.2} times as fast as an in-order queue)",
            name(build),
            of_gain((speedup(build) - 1.0) / gain, keep),
            share(build, fastest),
            name(fastest),
            speedup(build),
        )
    } else if build == smallest {
        format!(
            "{} is both {the_fastest} ({best:.2} times as fast as an in-order queue) and the {least}",
            name(build)
        )
    } else {
        format!(
            "{} is {the_fastest} ({best:.2} times as fast as an in-order queue), and none with {less} keeps {} of its gain",
            name(build),
            exact(keep)
        )
    };
    (text, Some(build), Some(fastest))
}

/// A share as in "98 %": whole numbers, but for the smallest, and for those that would be called all.
pub fn percent(share: f64) -> String {
    let fine = share.abs() < 0.095 || (0.995..0.9995).contains(&share);
    if fine { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}

/// A share of the gain, with as many digits as it takes to see on which side of `keep` it is.
pub fn of_gain(share: f64, keep: f64) -> String {
    let shown = |digits: i32| super::round(share * 100.0, digits);
    let told = |digits: &i32| (shown(*digits) < keep * 100.0) == (share < keep - 1e-9);
    match (1..=6).find(told) {
        Some(digits) if !told(&0) => format!("{:.*} %", digits as usize, shown(digits)),
        _ => percent(share),
    }
}

/// A share as it was given.
pub fn exact(share: f64) -> String {
    format!("{} %", super::round(share * 100.0, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_on_the_right_side_of_what_is_to_be_kept() {
        let cases =
            [(0.9479, "94.8 %"), (0.94996, "94.996 %"), (0.95, "95 %"), (0.951, "95 %"), (0.2, "20 %")];
        for (share, text) in cases {
            assert_eq!(of_gain(share, 0.95), text, "{share}");
        }
        assert_eq!(of_gain(0.9547, 0.955), "95 %");
        assert_eq!(of_gain(1.0, 0.95), "100 %");
    }

    fn candidates(rows: &[(&str, f64, Option<f64>)]) -> Vec<Candidate> {
        let make = |(i, (name, speedup, area)): (usize, &(&str, f64, Option<f64>))| Candidate {
            name: name.to_string(),
            slots: 8 << i,
            over_queue: *speedup,
            area: *area,
        };
        rows.iter().enumerate().map(make).collect()
    }

    fn advice(rows: &[(&str, f64, Option<f64>)], keep: f64) -> (String, Option<usize>, Option<usize>) {
        advise(&candidates(rows), keep)
    }

    #[test]
    fn means() {
        assert_eq!(geometric_mean(&[2.0, 8.0]), Some(4.0));
        assert_eq!(geometric_mean(&[1.5]), Some(1.5));
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn fronts() {
        let of = |points: &[(f64, f64)]| front(&points.iter().map(|p| Some(*p)).collect::<Vec<_>>());
        assert_eq!(of(&[]), Vec::<bool>::new());
        assert_eq!(of(&[(1.0, 5.0)]), [true]);
        // More value for more cost: all; the third is beaten by the second.
        assert_eq!(of(&[(1.0, 1.0), (2.0, 2.0), (1.5, 3.0), (3.0, 9.0)]), [true, true, false, true]);
        // The same value for less cost, and more value for the same cost.
        assert_eq!(of(&[(2.0, 1.0), (2.0, 2.0), (1.0, 1.0)]), [true, false, false]);
        // Equals do not beat each other, wherever they stand.
        assert_eq!(of(&[(2.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), [true, false, true]);
        assert_eq!(front(&[None, Some((1.0, 1.0))]), [false, true]);
    }

    #[test]
    fn the_smallest_that_keeps_enough() {
        let rows = [
            ("a", 1.30, Some(10.0)),
            ("b", 1.49, Some(31.0)),
            ("c", 1.50, Some(100.0)),
            ("d", 1.49, Some(200.0)),
        ];
        let (text, build, fastest) = advice(&rows, 0.95);
        assert_eq!(
            text,
            "b gets 98 % of the gain at 31 % of the area of c (1.49 and 1.50 times as fast as an in-order queue)"
        );
        assert_eq!((build, fastest), (Some(1), Some(2)));
        let (text, build, _) = advice(&rows, 0.99);
        assert_eq!(
            text,
            "c is the fastest (1.50 times as fast as an in-order queue), and none with less area keeps 99 % of its gain"
        );
        assert_eq!(build, Some(2));
        // Exactly the share that is asked for is enough, whatever the last bit says.
        assert_eq!(advice(&[("a", 1.3, Some(1.0)), ("b", 1.5, Some(2.0))], 0.6).1, Some(0));
        assert_eq!(advice(&rows, 0.0).1, Some(0), "any gain will do");
    }

    #[test]
    fn without_areas_slots_count() {
        let (text, build, _) = advice(&[("a", 1.2, None), ("b", 1.5, None), ("c", 1.5001, None)], 0.95);
        assert_eq!(
            text,
            "b gets 100 % of the gain at 50 % of the slots of c (1.50 and 1.50 times as fast as an in-order queue)"
        );
        assert_eq!(build, Some(1));
    }

    #[test]
    fn one_without_an_area_is_not_compared_and_not_forgotten() {
        let (text, build, fastest) =
            advice(&[("a", 1.9, None), ("b", 1.5, Some(2.0)), ("c", 1.2, Some(1.0))], 0.95);
        assert_eq!(
            text,
            "b is the fastest with an area (1.50 times as fast as an in-order queue), and none with less area keeps 95 % of its gain; 1 design has no area and is not compared, though a is faster (1.90 times as fast as an in-order queue)"
        );
        assert_eq!((build, fastest), (Some(1), Some(0)));
        // Slower ones hide nothing.
        let (text, build, fastest) =
            advice(&[("a", 1.4, None), ("b", 1.5, Some(2.0)), ("c", 1.2, Some(1.0)), ("d", 1.5, None)], 0.95);
        assert!(
            text.starts_with("b is the fastest (")
                && text.ends_with("its gain; 2 designs have no area and are not compared"),
            "{text}"
        );
        assert_eq!((build, fastest), (Some(1), Some(1)));
        let (text, ..) = advice(&[("a", 1.4, None), ("b", 1.5, Some(2.0))], 0.95);
        assert!(text.contains("it is the only design with an area, so there is nothing"), "{text}");
    }

    #[test]
    fn a_share_that_is_not_all_is_not_called_so() {
        assert_eq!([0.999, 0.95, 1.0, 0.333].map(exact), ["99.9 %", "95 %", "100 %", "33.3 %"]);
        assert_eq!([0.996, 0.9949, 1.0, 0.05].map(percent), ["99.6 %", "99 %", "100 %", "5.0 %"]);
        let rows = [("a", 1.2, Some(1.0)), ("b", 1.5, Some(2.0))];
        assert!(advice(&rows, 0.999).0.ends_with("keeps 99.9 % of its gain"));
    }

    #[test]
    fn one_design_none_and_all_alike() {
        let (text, build, fastest) = advice(&[], 0.95);
        assert_eq!(text, "no design ran on all of them: there is nothing to compare");
        assert_eq!((build, fastest), (None, None));
        let (text, build, _) = advice(&[("a", 1.25, Some(3.0))], 0.95);
        assert!(
            text.starts_with("a is 1.25 times as fast as an in-order queue; it is the only design explored"),
            "{text}"
        );
        assert_eq!(build, Some(0));
        let (text, build, _) =
            advice(&[("a", 1.5, Some(30.0)), ("b", 1.5, Some(3.0)), ("c", 1.5, Some(4.0))], 0.95);
        assert_eq!(
            text,
            "all 3 designs are 1.50 times as fast as an in-order queue: b is the smallest, with 10 % of the area of a"
        );
        assert_eq!(build, Some(1));
        let (text, ..) = advice(&[("a", 1.5, Some(3.0)), ("b", 1.5, Some(3.0))], 0.95);
        assert_eq!(text, "all 2 designs are 1.50 times as fast as an in-order queue: a is the smallest");
        let (text, ..) = advice(&[("a", 1.5, Some(3.0)), ("b", 1.2, Some(4.0))], 0.95);
        assert_eq!(text, "a is both the fastest (1.50 times as fast as an in-order queue) and the smallest");
    }

    #[test]
    fn no_gain_and_a_loss() {
        let (text, build, fastest) = advice(&[("a", 1.0, Some(1.0)), ("b", 1.0, Some(2.0))], 0.95);
        assert_eq!(text, "build none: a, the fastest, is no faster than an in-order queue (1.000 times)");
        assert_eq!((build, fastest), (None, Some(0)));
        let (text, build, fastest) = advice(&[("a", 0.8, Some(1.0)), ("b", 0.9, Some(2.0))], 0.95);
        assert_eq!(text, "build none: b, the fastest, is slower than an in-order queue (0.900 times)");
        assert_eq!((build, fastest), (None, Some(1)));
        let (text, ..) = advice(&[("a", 0.9, Some(1.0))], 0.95);
        assert_eq!(
            text,
            "build none: a, the only design explored, is slower than an in-order queue (0.900 times)"
        );
    }
}
