//! Small matters of wording.

pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Where the path is longer than `most` characters, its first two steps and as many of the last as fit:
/// `Context.beanFactory…singletonObjects["cart"].count`.
pub(crate) fn cut_in_the_middle(path: &str, most: usize) -> String {
    if path.chars().count() <= most {
        return path.to_owned();
    }
    let starts = step_starts(path);
    let head = &path[..starts.get(2).copied().unwrap_or(0)];
    let room = most.saturating_sub(head.chars().count() + 1);
    let mut tails = starts.iter().skip(3).map(|&start| &path[start..]);
    let last = starts.last().map_or(path, |&start| &path[start..]);
    let is_index = |tail: &str| tail.starts_with('[') && !tail.starts_with("[\"");
    let tail = tails.find(|tail| tail.chars().count() <= room && !is_index(tail)).unwrap_or(last);
    if head.len() + tail.len() >= path.len() {
        return path.to_owned();
    }
    format!("{head}…{}", tail.trim_start_matches('.'))
}

/// Where the steps of a path begin: at its start, at dots and at brackets, but not inside of a key.
fn step_starts(path: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut depth = 0_usize;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in path.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '.' | '[' if depth == 0 && at > 0 => starts.push(at),
            _ => {}
        }
        match c {
            '[' if !is_quoted => depth += 1,
            ']' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_their_ends() {
        assert_eq!(cut_in_the_middle("Registry.MAP[\"a\"]", 40), "Registry.MAP[\"a\"]");
        let long = "Cache.contexts.map.table[3].val.beanFactory.singletonObjects[\"my.cart\"].count";
        assert_eq!(cut_in_the_middle(long, 60), "Cache.contexts…singletonObjects[\"my.cart\"].count");
        assert_eq!(cut_in_the_middle(long, 45), "Cache.contexts…[\"my.cart\"].count");
        assert_eq!(cut_in_the_middle(long, 5), "Cache.contexts…count");
        assert_eq!(cut_in_the_middle("Cache.byType[com.example.One$Two].next.value", 30), "Cache.byType…next.value");
        assert_eq!(cut_in_the_middle("Registry.MAP[\"a\"]", 5), "Registry.MAP[\"a\"]");
    }
}
