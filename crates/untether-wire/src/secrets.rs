//! Which values are not to be written anywhere: those of environment variables, system properties and arguments that
//! are secrets by their name, or by what they look like.
//!
//! The agent asks before it writes a trace, so that a secret never leaves the JVM that was given it.

use crate::frame::{Frame, WithheldKind};
use crate::rules::{Rules, glob_matches};

/// What stands in place of a value inside an argument.
pub const WITHHELD: &str = "(withheld)";

/// Decides by rules such as `*PASSWORD*`.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    rules: Vec<(bool, String)>,
}

impl Secrets {
    /// Patterns may be written as environment variables or as properties are.
    pub fn new(rules: &Rules) -> Self {
        let parsed = rules.patterns().iter().map(|pattern| match pattern.strip_prefix('!') {
            Some(exception) => (false, normalised(exception)),
            None => (true, normalised(pattern)),
        });
        Secrets { rules: parsed.collect() }
    }

    /// Whether the name is that of a secret; the last rule that matches decides.
    pub fn is_secret(&self, name: &str) -> bool {
        let name = normalised(name);
        let last = self.rules.iter().rev().find(|(_, pattern)| glob_matches(pattern, &name));
        last.is_some_and(|(is_secret, _)| *is_secret)
    }

    /// Whether the value must be withheld: for its name, for the options that it consists of (`JAVA_TOOL_OPTIONS`), or
    /// as it has a password in it.
    pub fn withholds(&self, name: &str, value: &str) -> bool {
        !value.is_empty() && (self.is_secret(name) || self.is_within(value) || has_password(value))
    }

    /// Whether a command or a list of options has a secret in it: `--name=value`, `NAME=value`, `--name value`.
    fn is_within(&self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_given = |word: &&str| {
            let given = word.split_once('=');
            given.is_some_and(|(name, value)| !value.is_empty() && self.is_secret(bare(name)))
        };
        let is_followed = |two: &[&str]| {
            two[0].starts_with("--")
                && !two[0].contains('=')
                && !two[1].starts_with('-')
                && self.is_secret(bare(two[0]))
        };
        words.iter().any(is_given) || words.windows(2).any(is_followed)
    }

    /// A command without the values of secrets.
    pub fn command(&self, command: &str) -> String {
        let words = command.split_whitespace().map(str::to_owned).collect();
        let kept = self.arguments(words, |_, _| {});
        // As it was, where nothing is left out.
        if kept.iter().any(|word| word.contains(WITHHELD)) { kept.join(" ") } else { command.to_owned() }
    }

    /// The arguments without the values of secrets: `-Dname=value`, `--name=value`, `name=value`, `--name value`. `note` is
    /// told what was withheld.
    pub fn arguments(&self, arguments: Vec<String>, mut note: impl FnMut(WithheldKind, &str)) -> Vec<String> {
        let mut is_value_of: Option<String> = None;
        let mut kept = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let owner = is_value_of.take().filter(|_| !argument.starts_with('-'));
            match (owner, argument.split_once('=')) {
                (Some(name), _) => {
                    note(WithheldKind::Argument, &name);
                    kept.push(WITHHELD.to_owned());
                }
                (None, Some((name, value))) if self.withholds(bare(name), value) => {
                    let is_property = name.starts_with("-D");
                    note(if is_property { WithheldKind::Property } else { WithheldKind::Argument }, bare(name));
                    kept.push(format!("{name}={WITHHELD}"));
                }
                (None, given) => {
                    if given.is_none() && argument.starts_with("--") && self.is_secret(bare(&argument)) {
                        is_value_of = Some(bare(&argument).to_owned());
                    }
                    kept.push(if given.is_none() && has_password(&argument) { WITHHELD.to_owned() } else { argument });
                }
            }
        }
        kept
    }

    /// The frame, or one that says that the property's value was withheld.
    pub fn frame(&self, frame: Frame) -> Frame {
        match frame {
            Frame::Property { name, value } if self.withholds(&name, &value) => {
                Frame::Withheld { kind: WithheldKind::Property, name }
            }
            other => other,
        }
    }
}

/// An option without what marks it as one.
fn bare(option: &str) -> &str {
    option.strip_prefix("-D").unwrap_or(option).trim_start_matches('-')
}

/// `apiKey`, `api.key` and `api-key` as `API_KEY`.
pub fn normalised(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut was_small = false;
    for character in name.chars() {
        if was_small && character.is_uppercase() {
            text.push('_');
        }
        was_small = character.is_lowercase() || character.is_ascii_digit();
        match character {
            '.' | '-' => text.push('_'),
            other => text.extend(other.to_uppercase()),
        }
    }
    text
}

/// Whether there is a location with a user's password in it: `scheme://user:password@host`.
fn has_password(value: &str) -> bool {
    value.match_indices("://").any(|(at, separator)| {
        let authority = value[at + separator.len()..].split(['/', '?', '#', ' ']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let patterns = ["*PASSWORD*", "*_KEY", "*TOKEN*", "com.example.vault.*", "!com.example.vault.address"];
        Secrets::new(&Rules::new(patterns.map(str::to_owned)))
    }

    #[test]
    fn names_are_compared_however_they_are_written() {
        let secrets = secrets();
        for name in ["DB_PASSWORD", "db.password", "dbPassword", "api-key", "apiKey", "com.example.vault.pin"] {
            assert!(secrets.is_secret(name), "{name}");
        }
        for name in ["MONKEY", "KEYBOARD", "PATH", "com.example.vault.address"] {
            assert!(!secrets.is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_that_hold_a_secret_are_withheld_whatever_their_name() {
        let secrets = secrets();
        assert!(secrets.withholds("JAVA_TOOL_OPTIONS", "-Xmx1g -Ddb.password=x"));
        assert!(secrets.withholds("DATABASE_URL", "postgres://user:word@host/name"));
        assert!(!secrets.withholds("DATABASE_URL", "postgres://user@host/name:x@y"));
        assert!(!secrets.withholds("JAVA_TOOL_OPTIONS", "-Xmx1g -Duser.country=DE"));
        assert!(!secrets.withholds("DB_PASSWORD", ""));
    }

    #[test]
    fn arguments_keep_their_names() {
        let given = ["-Dapi.key=1", "-Xmx1g", "--password", "2", "--token=3", "API_KEY=4", "-Da=b", "ftp://u:5@h/"];
        let mut noted = Vec::new();
        let kept =
            secrets().arguments(given.map(str::to_owned).to_vec(), |kind, name| noted.push((kind, name.to_owned())));
        let expected = [
            "-Dapi.key=(withheld)",
            "-Xmx1g",
            "--password",
            "(withheld)",
            "--token=(withheld)",
            "API_KEY=(withheld)",
            "-Da=b",
            "(withheld)",
        ];
        assert_eq!(kept, expected);
        assert_eq!(noted[0], (WithheldKind::Property, "api.key".to_owned()));
        assert_eq!(
            noted.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
            ["api.key", "password", "token", "API_KEY"]
        );
    }
}
