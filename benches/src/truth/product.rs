//! The product, used as its users do: `untether detect`, then `untether refine`; and what it says, read leniently, as
//! its JSON may get other versions.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::oracle::JVM_ARGUMENTS;
use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Finding {
    pub(crate) test: String,
    pub(crate) role: String,
    /// Setters or polluters.
    pub(crate) others: Vec<String>,
    pub(crate) alternatives: Vec<Vec<String>>,
    pub(crate) cleaners: Vec<String>,
    pub(crate) schedule: Vec<String>,
    pub(crate) counter_schedule: Vec<String>,
    pub(crate) counter: String,
    pub(crate) violated: String,
    /// What the first place in which the tests meet is called.
    pub(crate) causes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Document {
    pub(crate) is_complete: bool,
    pub(crate) jvms: u64,
    pub(crate) seconds: f64,
    pub(crate) findings: Vec<Finding>,
}

/// What to run, in which order.
#[derive(Debug)]
pub(crate) struct Run<'r> {
    pub(crate) untether: &'r Path,
    pub(crate) java: &'r Path,
    pub(crate) class_path: &'r str,
    pub(crate) folder: &'r Path,
    pub(crate) budget: &'r str,
    pub(crate) jobs: usize,
}

impl Run<'_> {
    pub(crate) fn refine(&self, order: &[String]) -> Result<Document, Failure> {
        let file = self.folder.join("order.txt");
        std::fs::write(&file, order.join("\n") + "\n").map_err(Failure::io("write", &file))?;
        let mut detect = Command::new(self.untether);
        detect.args(["detect", "--quiet", "--classpath", self.class_path, "--order"]).arg(&file);
        detect.arg("--java").arg(self.java);
        detect.args(JVM_ARGUMENTS.iter().map(|argument| format!("--jvm-arg={argument}")));
        let said = self.output(detect, "detect")?;
        std::fs::write(self.folder.join("detect.txt"), &said).map_err(Failure::io("write", self.folder))?;
        let mut refine = Command::new(self.untether);
        refine.args(["refine", "--quiet", "--format", "json", "--budget", self.budget, "--jobs"]);
        refine.arg(self.jobs.to_string());
        let said = self.output(refine, "refine")?;
        let file = self.folder.join("refine.json");
        std::fs::write(&file, &said).map_err(Failure::io("write", &file))?;
        let value = serde_json::from_slice(&said)
            .map_err(|error| Failure::new(format!("cannot read the JSON of untether refine: {error}")))?;
        Ok(document(&value))
    }

    fn output(&self, mut command: Command, what: &str) -> Result<Vec<u8>, Failure> {
        command.current_dir(self.folder).env_remove("JAVA_TOOL_OPTIONS");
        let output = command.output().map_err(Failure::io("start", self.untether))?;
        // 1 where tests fail, which is what many of them are there for.
        if !matches!(output.status.code(), Some(0 | 1)) {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Failure::new(format!("untether {what} ended with {}: {reason}", output.status)));
        }
        Ok(output.stdout)
    }
}

pub(crate) fn document(value: &Value) -> Document {
    Document {
        is_complete: value["is_complete"].as_bool().unwrap_or(false),
        jvms: value["jvm_starts"].as_u64().unwrap_or(0),
        seconds: value["seconds"].as_f64().unwrap_or(0.0),
        findings: list(&value["manifest"]).iter().map(|one| finding(one, &value["resources"])).collect(),
    }
}

/// `resources` is where places are described once, if they are.
fn finding(value: &Value, resources: &Value) -> Finding {
    let first = match &value["resources"][0] {
        Value::Number(number) => &resources[number.as_u64().unwrap_or(0) as usize],
        other => other,
    };
    let causes = [&value["cause"], &value["cause"]["name"], &first["name"], &first["root"]];
    let role = text(&value["role"]);
    Finding {
        test: text(&value["test"]),
        others: texts(&value[if role == "brittle" { "setters" } else { "polluters" }]),
        role,
        alternatives: list(&value["alternatives"]).iter().map(texts).collect(),
        cleaners: texts(&value["cleaners"]),
        schedule: texts(&value["schedule"]),
        counter_schedule: texts(&value["counter_schedule"]),
        counter: text(&value["outcome"]["counter"]),
        violated: text(&value["outcome"]["violated"]),
        causes: causes.into_iter().map(text).filter(|text| !text.is_empty()).collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The string itself, or the test that an object is about.
fn text(value: &Value) -> String {
    value.as_str().or_else(|| value["test"].as_str()).unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read_whatever_the_version() {
        let one = serde_json::json!({
            "version": 1, "is_complete": true, "jvm_starts": 3, "seconds": 1.5,
            "manifest": [{
                "test": "A#a", "role": "victim", "polluters": ["B#b"], "cleaners": ["C#c"], "cause": "p.Cell1.value",
                "resources": [{"name": "Cell1.value", "root": "p.Cell1.value"}],
                "outcome": {"counter": "passed", "violated": "failed"},
                "schedule": ["B#b", "A#a"], "counter_schedule": ["A#a"]
            }]
        });
        let read = document(&one);
        assert!(read.is_complete && read.jvms == 3);
        assert_eq!(read.findings[0].others, ["B#b"]);
        assert_eq!(read.findings[0].causes, ["p.Cell1.value", "Cell1.value", "p.Cell1.value"]);
        let two = serde_json::json!({
            "version": 2, "resources": [{"name": "Cell2.MAP[\"key\"]"}],
            "manifest": [{"test": "A#a", "role": "brittle", "setters": ["B#b"], "resources": [0], "proven": true}]
        });
        let read = document(&two);
        assert_eq!(
            (read.findings[0].role.as_str(), read.findings[0].causes.as_slice()),
            ("brittle", &["Cell2.MAP[\"key\"]".to_owned()][..])
        );
    }
}
