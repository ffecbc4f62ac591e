//! Work copies of a repository, and which of its revisions are replayed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// What a build is made from. Pages and lists of changes are not.
const PATHS: &[&str] =
    &[":(glob)**/src/**", ":(glob)**/pom.xml", ":(exclude,glob)**/src/site/**", ":(exclude,glob)**/src/changes/**"];

const SUREFIRE: &str = "<artifactId>maven-surefire-plugin</artifactId>";

/// The last `count` revisions up to `until` that change what is built, from old to new, and before them the one that the
/// first of them follows.
pub(crate) fn revisions(repository: &Path, until: &str, count: usize) -> Result<Vec<String>, Failure> {
    let number = format!("--max-count={count}");
    let mut arguments = vec!["log", "--first-parent", "--no-merges", "--format=%H", &number, until, "--"];
    arguments.extend(PATHS);
    let mut found: Vec<String> = git(repository, &arguments)?.lines().map(str::to_owned).collect();
    let Some(first) = found.last() else {
        return Err(Failure::new(format!("{} has no revision that touches src or a pom", repository.display())));
    };
    let before = git(repository, &["rev-parse", "--verify", &format!("{first}^1")])?;
    found.push(before.trim().to_owned());
    found.reverse();
    Ok(found)
}

/// A folder with one revision of the repository, in which builds may leave what they want.
#[derive(Debug)]
pub(crate) struct WorkCopy {
    pub(crate) folder: PathBuf,
    revision: Option<String>,
}

impl WorkCopy {
    /// Made anew: what an earlier replay left would count as known.
    pub(crate) fn create(repository: &Path, folder: PathBuf) -> Result<Self, Failure> {
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Failure::io("remove", &folder))?;
        }
        let parent = folder.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(Failure::io("create", parent))?;
        let (from, to) = (repository.to_string_lossy(), folder.to_string_lossy());
        git(parent, &["clone", "--quiet", "--shared", "--no-checkout", &from, &to])?;
        Ok(WorkCopy { folder, revision: None })
    }

    /// Only files that differ are written, so that a build sees what it would see in a developer's folder. Whether a pom is
    /// another than before.
    pub(crate) fn check_out(&mut self, revision: &str, surefire: Option<&str>) -> Result<bool, Failure> {
        let is_other_build = match self.revision.replace(revision.to_owned()) {
            None => true,
            Some(before) => {
                let changed = ["diff", "--name-only", &before, revision, "--", ":(glob)**/pom.xml"];
                !git(&self.folder, &changed)?.trim().is_empty()
            }
        };
        git(&self.folder, &["checkout", "--quiet", "--force", "--detach", revision])?;
        for pom in git(&self.folder, &["ls-files", "--", ":(glob)**/pom.xml"])?.lines() {
            let Some(version) = surefire else { break };
            let path = self.folder.join(pom);
            let text = fs::read_to_string(&path).map_err(Failure::io("read", &path))?;
            fs::write(&path, with_surefire(&text, version, pom == "pom.xml")).map_err(Failure::io("write", &path))?;
        }
        Ok(is_other_build)
    }
}

/// The pom with this version of Surefire wherever it names the plugin, and, in the pom of the whole project, in any case.
fn with_surefire(pom: &str, version: &str, is_root: bool) -> String {
    let element = format!("<version>{version}</version>");
    let mut parts = pom.split(SUREFIRE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find("</plugin>").unwrap_or(part.len());
        // Its dependencies have versions, too.
        let own = part[..end].find("<dependencies>").unwrap_or(end);
        let (start, stop) = match (part[..own].find("<version>"), part[..own].find("</version>")) {
            (Some(start), Some(stop)) if start < stop => (start, stop + "</version>".len()),
            _ => (0, 0),
        };
        text = text + SUREFIRE + &part[..start] + &element + &part[stop..];
    }
    let plugins = text.find("<build>").and_then(|build| Some(build + text[build..].find("<plugins>")? + 9));
    if let Some(at) = plugins.filter(|_| is_root && !pom.contains(SUREFIRE)) {
        text.insert_str(at, &format!("<plugin>{SUREFIRE}{element}</plugin>"));
    }
    text
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("git");
    let output =
        command.current_dir(folder).args(arguments).output().map_err(Failure::io("start", Path::new("git")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("git {} failed: {}", arguments.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pom(plugin: &str) -> String {
        format!("<project><version>1</version><build><plugins>{plugin}</plugins></build></project>")
    }

    #[test]
    fn the_version_of_surefire_is_replaced_or_added() {
        let expected = pom(&format!("<plugin>{SUREFIRE}<version>3.2.5</version><configuration/></plugin>"));
        let with = |plugin: &str| with_surefire(&pom(plugin), "3.2.5", true);
        assert_eq!(with(&format!("<plugin>{SUREFIRE}<version>3.5.6</version><configuration/></plugin>")), expected);
        assert_eq!(with(&format!("<plugin>{SUREFIRE}<configuration/></plugin>")), expected);
        assert_eq!(with(""), pom(&format!("<plugin>{SUREFIRE}<version>3.2.5</version></plugin>")));
    }

    #[test]
    fn versions_of_others_stay() {
        let dependency = "<dependencies><dependency><version>2</version></dependency></dependencies>";
        let text = pom(&format!("<plugin>{SUREFIRE}{dependency}</plugin><plugin><version>9</version></plugin>"));
        let changed = with_surefire(&text, "3.2.5", true);
        assert_eq!(changed, text.replace(SUREFIRE, &format!("{SUREFIRE}<version>3.2.5</version>")));
        assert_eq!(with_surefire(&pom(""), "3.2.5", false), pom(""));
    }
}
