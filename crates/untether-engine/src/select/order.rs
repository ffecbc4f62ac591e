//! The order in which a module's test classes run: builds that run only some of them tell of those only.

use std::collections::BTreeSet;

use untether_model::{Trace, class_run_of};

/// The test classes of a JVM, as they ran.
pub(super) fn ran(trace: &Trace) -> Vec<String> {
    let mut ran: Vec<String> = Vec::new();
    for actor in trace.tests() {
        let class = class_run_of(trace, actor);
        if !ran.iter().any(|known| known == class) {
            ran.push(class.to_owned());
        }
    }
    ran
}

/// All of these in the order in which they run, as far as that is known: as they ran now where all of them did, else as they
/// ran before, each new one behind the one that it ran behind.
pub(super) fn ordered(before: &[String], ran: &[String], all: BTreeSet<String>) -> Vec<String> {
    let mut order: Vec<String> = before.iter().filter(|class| all.contains(*class)).cloned().collect();
    if order.iter().all(|class| ran.contains(class)) {
        order.clear();
    }
    let mut place = 0;
    for class in ran.iter().filter(|class| all.contains(*class)) {
        match order.iter().position(|known| known == class) {
            Some(known) => place = known + 1,
            None => {
                order.insert(place, class.clone());
                place += 1;
            }
        }
    }
    let rest: Vec<String> = all.into_iter().filter(|class| !order.contains(class)).collect();
    order.extend(rest);
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
