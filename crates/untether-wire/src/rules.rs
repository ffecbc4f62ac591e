//! Patterns that name fields and classes, as users write them in `untether.toml`.

/// Ordered patterns; the last that matches decides, and a leading `!` takes back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    patterns: Vec<String>,
}

impl Rules {
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Rules { patterns: patterns.into_iter().collect() }
    }

    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether `name`, such as `java.util.HashMap.modCount`, is meant.
    pub fn matches(&self, name: &str) -> bool {
        for pattern in self.patterns.iter().rev() {
            match pattern.strip_prefix('!') {
                Some(exception) if glob_matches(exception, name) => return false,
                None if glob_matches(pattern, name) => return true,
                _ => {}
            }
        }
        false
    }
}

/// `*` stands for anything but a dot, `**` for anything at all, `?` for one character.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    // Most patterns differ from most names before their first star or after their last.
    let is_wild = |c: char| matches!(c, '*' | '?');
    let (Some(first), Some(last)) = (pattern.find(is_wild), pattern.rfind(is_wild)) else { return pattern == name };
    let middle = name.strip_prefix(&pattern[..first]).and_then(|rest| rest.strip_suffix(&pattern[last + 1..]));
    match (&pattern[first..=last], middle) {
        (_, None) => false,
        ("**", _) => true,
        ("*", Some(middle)) => !middle.contains('.'),
        (wild, Some(middle)) => wild_matches(wild, middle),
    }
}

/// The same by trying all readings of the pattern at once: many stars do not make it slow.
fn wild_matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // Which lengths of the name's beginning the pattern matches so far.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut rest = pattern.chars().peekable();
    while let Some(wanted) = rest.next() {
        let mut next = vec![false; name.len() + 1];
        if wanted == '*' {
            let crosses_dots = rest.next_if_eq(&'*').is_some();
            let mut is_open = false;
            for (length, slot) in next.iter_mut().enumerate() {
                is_open &= length > 0 && (crosses_dots || name[length - 1] != '.');
                is_open |= reached[length];
                *slot = is_open;
            }
        } else {
            for (length, &character) in name.iter().enumerate() {
                next[length + 1] = reached[length] && (wanted == '?' || wanted == character);
            }
        }
        reached = next;
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_star_stays_within_one_name() {
        assert!(glob_matches("java.util.*.modCount", "java.util.HashMap.modCount"));
        assert!(!glob_matches("java.util.*", "java.util.HashMap.modCount"));
        assert!(glob_matches("java.util.**", "java.util.concurrent.locks.Lock"));
    }

    #[test]
    fn the_last_matching_rule_decides() {
        let rules = Rules::new(["sun.**", "!sun.util.calendar.**", "sun.util.calendar.Era.*"].map(String::from));
        assert!(rules.matches("sun.nio.fs.UnixPath.path"));
        assert!(!rules.matches("sun.util.calendar.ZoneInfo.rawOffset"));
        assert!(rules.matches("sun.util.calendar.Era.name"));
    }
}
