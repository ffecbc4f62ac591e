//! The order in which a module's test classes run: builds that run only some of them tell of those only.

use std::collections::{BTreeSet, HashMap, HashSet};

use untether_model::{Trace, class_run_of};

/// The test classes of a JVM, as they ran.
pub(super) fn ran(trace: &Trace) -> Vec<String> {
    let mut seen = HashSet::new();
    let classes = trace.tests().map(|actor| class_run_of(trace, actor));
    classes.filter(|class| seen.insert(*class)).map(str::to_owned).collect()
}

/// All of these in the order in which they run, as far as that is known: as they ran now where all of them did, else as they
/// ran before, each new one behind the one that it ran behind.
pub(super) fn ordered(before: &[String], ran: &[String], all: BTreeSet<String>) -> Vec<String> {
    let now: HashSet<&String> = ran.iter().collect();
    let mut known: Vec<&String> = before.iter().filter(|class| all.contains(*class)).collect();
    if known.iter().all(|class| now.contains(class)) {
        known.clear();
    }
    let is_known: HashSet<&String> = known.iter().copied().collect();
    // New ones by the one that they ran behind; the first behind none.
    let mut behind: HashMap<Option<&String>, Vec<&String>> = HashMap::new();
    let mut last = None;
    for class in ran.iter().filter(|class| all.contains(*class)) {
        if is_known.contains(class) {
            last = Some(class);
        } else {
            behind.entry(last).or_default().push(class);
        }
    }
    let mut order: Vec<String> = Vec::with_capacity(all.len());
    for place in std::iter::once(None).chain(known.into_iter().map(Some)) {
        order.extend(place.cloned());
        order.extend(behind.remove(&place).into_iter().flatten().cloned());
    }
    let stands: HashSet<String> = order.iter().cloned().collect();
    order.extend(all.into_iter().filter(|class| !stands.contains(class)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn check(before: &str, ran: &str, all: &str, expected: &str) {
        assert_eq!(ordered(&names(before), &names(ran), names(all).into_iter().collect()), names(expected));
    }

    #[test]
    fn what_ran_stands_as_it_ran_and_the_others_as_they_did_before() {
        check("", "C A B", "A B C", "C A B");
        check("A B C", "C A B", "A B C", "C A B");
        check("C A B", "B", "A B C", "C A B");
        check("C A B", "", "A B C", "C A B");
    }

    #[test]
    fn a_new_one_stands_behind_the_one_that_it_ran_behind() {
        check("C A B", "A D", "A B C D", "C A D B");
        check("C A B", "D", "A B C D", "D C A B");
    }

    #[test]
    fn who_is_no_more_is_left_out_and_who_never_ran_comes_last() {
        check("C A B", "A", "A B E", "A B E");
    }
}
