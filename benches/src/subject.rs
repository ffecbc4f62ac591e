//! The suites that benchmarks run: `subjects.toml`, which explains the fields, and Maven coordinates.

use std::fmt;

use serde::Deserialize;

use crate::failure::Failure;

const SUBJECTS: &str = include_str!("../subjects.toml");

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Framework {
    JUnit3,
    JUnit4,
    JUnit5,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) framework: Framework,
    pub(crate) tests: Coordinates,
    pub(crate) dependencies: Vec<Coordinates>,
    #[serde(default)]
    pub(crate) jvm_args: Vec<String>,
    pub(crate) include: Vec<String>,
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    #[serde(default)]
    pub(crate) unpack: bool,
}

/// `group:artifact:version` or `group:artifact:type:classifier:version`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Coordinates {
    pub(crate) group: String,
    pub(crate) artifact: String,
    pub(crate) kind: String,
    pub(crate) classifier: Option<String>,
    pub(crate) version: String,
}

impl TryFrom<String> for Coordinates {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let (group, artifact, kind, classifier, version) = match parts[..] {
            [group, artifact, version] => (group, artifact, "jar", None, version),
            [group, artifact, kind, classifier, version] => (group, artifact, kind, Some(classifier), version),
            _ => {
                return Err(format!(
                    "'{text}' is neither group:artifact:version nor group:artifact:type:classifier:version"
                ));
            }
        };
        // They go into a pom as they are.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if parts.iter().any(|part| part.is_empty() || !part.chars().all(is_plain)) {
            return Err(format!("'{text}' has an empty part or an unexpected character"));
        }
        Ok(Coordinates {
            group: group.to_owned(),
            artifact: artifact.to_owned(),
            kind: kind.to_owned(),
            classifier: classifier.map(str::to_owned),
            version: version.to_owned(),
        })
    }
}

impl Coordinates {
    /// The name of the file in a Maven repository.
    pub(crate) fn file_name(&self) -> String {
        let classifier = self.classifier.as_ref().map(|classifier| format!("-{classifier}")).unwrap_or_default();
        format!("{}-{}{classifier}.{}", self.artifact, self.version, self.kind)
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Framework::JUnit3 => "JUnit 3",
            Framework::JUnit4 => "JUnit 4",
            Framework::JUnit5 => "JUnit 5",
        })
    }
}

/// Those of the given names, or all, in the order of the file.
pub(crate) fn select(names: &[String]) -> Result<Vec<Subject>, Failure> {
    let mut subjects = parse(SUBJECTS)?;
    if let Some(unknown) = names.iter().find(|name| !subjects.iter().any(|subject| subject.name == **name)) {
        let known: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        return Err(Failure::new(format!("no subject is named '{unknown}'; there are {}", known.join(", "))));
    }
    if !names.is_empty() {
        subjects.retain(|subject| names.contains(&subject.name));
    }
    Ok(subjects)
}

fn parse(text: &str) -> Result<Vec<Subject>, Failure> {
    #[derive(Deserialize)]
    struct Document {
        subject: Vec<Subject>,
    }
    let document: Document =
        toml::from_str(text).map_err(|error| Failure::new(format!("cannot read the subjects: {error}")))?;
    Ok(document.subject)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn coordinates_have_three_or_five_parts() {
        let plain = Coordinates::try_from("org.a:b:1.0".to_owned()).unwrap();
        assert_eq!((plain.kind.as_str(), plain.classifier.as_deref()), ("jar", None));
        assert_eq!(plain.file_name(), "b-1.0.jar");
        let tests = Coordinates::try_from("org.a:b:jar:tests:1.0".to_owned()).unwrap();
        assert_eq!(tests.file_name(), "b-1.0-tests.jar");
        for wrong in ["org.a:b", "a:b:jar:1.0", "a::1.0", "a:b:<1.0>"] {
            assert!(Coordinates::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_subject_needs_neither_jvm_args_nor_exclude_nor_unpack() {
        let text = r#"
            [[subject]]
            name = "one"
            framework = "junit4"
            tests = "g:one:jar:tests:1"
            dependencies = ["g:one:1", "junit:junit:4.13.2"]
            include = ["*Test"]
        "#;
        let subjects = parse(text).unwrap();
        assert_eq!(subjects.len(), 1);
        assert_eq!(subjects[0].framework, Framework::JUnit4);
        assert_eq!(subjects[0].dependencies[1].artifact, "junit");
        assert!(!subjects[0].unpack && subjects[0].jvm_args.is_empty() && subjects[0].exclude.is_empty());
    }

    #[test]
    fn an_unknown_field_or_framework_is_an_error() {
        let subject = |line: &str| {
            parse(&format!(
                "[[subject]]\nname = 'a'\ntests = 'g:a:1'\ndependencies = []\ninclude = ['*Test']\n{line}\n"
            ))
        };
        assert!(subject("framework = 'junit5'").is_ok());
        assert!(subject("framework = 'testng'").is_err());
        assert!(subject("framework = 'junit5'\nexcludes = []").is_err());
    }

    #[test]
    fn the_subjects_of_the_repository_are_readable_and_have_names_of_their_own() {
        let subjects = select(&[]).unwrap();
        let names: HashSet<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        assert!(!subjects.is_empty());
        assert_eq!(names.len(), subjects.len());
        let first = subjects[0].name.clone();
        assert_eq!(select(std::slice::from_ref(&first)).unwrap().len(), 1);
        assert!(select(&["no-such-subject".to_owned()]).is_err());
    }
}
