//! Zeller's minimising delta debugging, on ordered lists, several trials at a time.

/// The shortest sublist found that still has the property. `holds` judges several sublists at once; the
/// whole list is taken to have it. The result is 1-minimal: no single element can be left out.
pub(crate) fn minimise<T: Clone, E>(
    list: Vec<T>,
    mut holds: impl FnMut(&[Vec<T>]) -> Result<Vec<bool>, E>,
) -> Result<Vec<T>, E> {
    let mut list = list;
    let mut parts = 2;
    while list.len() >= 2 {
        let chunks = split(&list, parts);
        // First single parts, then all but one part; what stands last is kept by preference, as it is the nearest.
        let mut trials: Vec<Vec<T>> = if parts == 2 { Vec::new() } else { chunks.iter().rev().cloned().collect() };
        for left_out in 0..chunks.len() {
            trials.push(
                chunks
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != left_out)
                    .flat_map(|(_, c)| c.iter().cloned())
                    .collect(),
            );
        }
        let found = holds(&trials)?.into_iter().position(|is_held| is_held);
        match found {
            Some(trial) => {
                let shorter = trials.swap_remove(trial);
                parts = if shorter.len() <= list.len() / 2 { 2 } else { (parts - 1).max(2) };
                list = shorter;
            }
            None if parts >= list.len() => return Ok(list),
            None => parts = (parts * 2).min(list.len()),
        }
        parts = parts.min(list.len().max(2));
    }
    if list.len() == 1 && holds(&[Vec::new()])?.first() == Some(&true) {
        list.clear();
    }
    Ok(list)
}

fn split<T: Clone>(list: &[T], parts: usize) -> Vec<Vec<T>> {
    let parts = parts.min(list.len());
    (0..parts).map(|part| list[part * list.len() / parts..(part + 1) * list.len() / parts].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_subsequence(of: &[u8], list: &[u8]) -> bool {
        let mut rest = list.iter();
        of.iter().all(|wanted| rest.any(|found| found == wanted))
    }

    proptest! {
        #[test]
        fn what_is_needed_in_order_is_all_that_is_left(
            list in prop::collection::vec(any::<u8>(), 0..60),
            picks in prop::collection::vec(any::<bool>(), 60),
        ) {
            let needed: Vec<u8> = list.iter().zip(&picks).filter(|(_, pick)| **pick).map(|(item, _)| *item).take(5).collect();
            let found = minimise(list, |trials| {
                Ok::<_, ()>(trials.iter().map(|trial| is_subsequence(&needed, trial)).collect())
            }).unwrap();
            prop_assert_eq!(found, needed);
        }
    }
}
