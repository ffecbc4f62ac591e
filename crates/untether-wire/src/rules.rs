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
    matches_from(pattern.as_bytes(), name.as_bytes())
}

fn matches_from(pattern: &[u8], name: &[u8]) -> bool {
    match pattern {
        [] => name.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=name.len()).any(|skip| matches_from(rest, &name[skip..])),
        [b'*', rest @ ..] => {
            let limit = name.iter().position(|&b| b == b'.').unwrap_or(name.len());
            (0..=limit).any(|skip| matches_from(rest, &name[skip..]))
        }
        [b'?', rest @ ..] => !name.is_empty() && matches_from(rest, &name[1..]),
        [literal, rest @ ..] => name.first() == Some(literal) && matches_from(rest, &name[1..]),
    }
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
