//! Class paths from Maven, by coordinates: a generated project that has nothing but dependencies.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::subject::{Coordinates, Subject};

const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath";

/// What a subject needs, as files of the local Maven repository.
#[derive(Debug, Clone)]
pub(crate) struct ClassPath {
    pub(crate) tests_jar: PathBuf,
    pub(crate) others: Vec<PathBuf>,
}

impl ClassPath {
    /// As `java -cp` takes it, with the tests, or what stands in for their jar, first.
    pub(crate) fn join(&self, tests: &Path) -> String {
        let entries = std::iter::once(tests).chain(self.others.iter().map(PathBuf::as_path));
        entries.map(|entry| entry.display().to_string()).collect::<Vec<_>>().join(":")
    }
}

/// Asks Maven, or what it answered last time for the same coordinates. `directory` is the subject's own.
pub(crate) fn resolve(subject: &Subject, directory: &Path) -> Result<ClassPath, Failure> {
    let pom = pom(std::iter::once(&subject.tests).chain(&subject.dependencies));
    split(entries(&known_or_asked(&pom, directory)?), &subject.tests.file_name())
}

/// The class path of libraries that have no tests of interest, as `java -cp` takes it.
pub(crate) fn resolve_all(coordinates: &[&str], directory: &Path) -> Result<String, Failure> {
    let coordinates = coordinates.iter().map(|&text| Coordinates::try_from(text.to_owned()).map_err(Failure::new));
    let pom = pom(coordinates.collect::<Result<Vec<_>, _>>()?.iter());
    Ok(known_or_asked(&pom, directory)?.trim().to_owned())
}

fn known_or_asked(pom: &str, directory: &Path) -> Result<String, Failure> {
    let mut hasher = DefaultHasher::new();
    pom.hash(&mut hasher);
    let answer = directory.join(format!("classpath-{:016x}.txt", hasher.finish()));
    let known = fs::read_to_string(&answer).ok().filter(|text| entries(text).iter().all(|entry| entry.exists()));
    match known {
        Some(text) => Ok(text),
        None => ask_maven(pom, directory, &answer),
    }
}

pub(crate) fn ask_maven(pom: &str, directory: &Path, answer: &Path) -> Result<String, Failure> {
    fs::create_dir_all(directory).map_err(Failure::io("create", directory))?;
    let pom_file = directory.join("pom.xml");
    fs::write(&pom_file, pom).map_err(Failure::io("write", &pom_file))?;
    // Maven fills the file only when all went well, but a rename makes sure of it.
    let unfinished = answer.with_extension("new");
    let maven = Command::new("mvn")
        .args(["-q", "-B", PLUGIN, "-f"])
        .arg(&pom_file)
        .arg(format!("-Dmdep.outputFile={}", unfinished.display()))
        .output()
        .map_err(|error| Failure::new(format!("cannot start mvn, is Maven installed? {error}")))?;
    if !maven.status.success() {
        let output = String::from_utf8_lossy(&maven.stdout);
        let reason = output.lines().find(|line| line.contains("ERROR")).unwrap_or("it printed no error").trim();
        return Err(Failure::new(format!("Maven could not resolve {}: {reason}", pom_file.display())));
    }
    fs::rename(&unfinished, answer).map_err(Failure::io("write", answer))?;
    fs::read_to_string(answer).map_err(Failure::io("read", answer))
}

fn entries(text: &str) -> Vec<PathBuf> {
    text.trim().split(':').filter(|entry| !entry.is_empty()).map(PathBuf::from).collect()
}

fn split(mut entries: Vec<PathBuf>, tests: &str) -> Result<ClassPath, Failure> {
    let is_tests = |path: &PathBuf| path.file_name().is_some_and(|name| name == tests);
    let Some(at) = entries.iter().position(is_tests) else {
        return Err(Failure::new(format!("Maven resolved a class path that does not have {tests}")));
    };
    Ok(ClassPath { tests_jar: entries.remove(at), others: entries })
}

fn pom<'c>(coordinates: impl Iterator<Item = &'c Coordinates>) -> String {
    let mut pom = String::from(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  \
         <groupId>untether.bench</groupId>\n  <artifactId>subject</artifactId>\n  <version>1</version>\n  \
         <packaging>pom</packaging>\n  <dependencies>\n",
    );
    for Coordinates { group, artifact, kind, classifier, version } in coordinates {
        let classifier = classifier.as_ref().map(|c| format!("<classifier>{c}</classifier>")).unwrap_or_default();
        let _ = writeln!(
            pom,
            "    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version><type>{kind}</type>{classifier}</dependency>"
        );
    }
    pom + "  </dependencies>\n</project>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pom_has_the_classifier_of_the_tests() {
        let tests = Coordinates::try_from("g:a:jar:tests:1".to_owned()).unwrap();
        let library = Coordinates::try_from("g:a:1".to_owned()).unwrap();
        let pom = pom([&tests, &library].into_iter());
        assert_eq!(pom.matches("<dependency>").count(), 2);
        assert_eq!(pom.matches("<classifier>tests</classifier>").count(), 1);
    }

    #[test]
    fn tests_come_first_wherever_maven_puts_them() {
        let class_path = split(entries("/m/a-1.jar:/m/a-1-tests.jar:/m/b-2.jar\n"), "a-1-tests.jar").unwrap();
        assert_eq!(class_path.join(&class_path.tests_jar), "/m/a-1-tests.jar:/m/a-1.jar:/m/b-2.jar");
        assert_eq!(class_path.join(Path::new("unpacked")), "unpacked:/m/a-1.jar:/m/b-2.jar");
        assert!(split(entries("/m/a-1.jar"), "a-1-tests.jar").is_err());
    }
}
