//! Cases of selection that need more than two states of a source tree: class paths, jars, JVMs, agents, runs that failed or
//! were interrupted. Each through real JVMs, and what ran is told by the tests themselves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use support::small::{SmallProject, Told, set};
use support::{feature_version, jdks, text, untether};

const VALUE: &str = "package lib; public class Value { public static int get() { return 1; } }";
const OTHER_VALUE: &str = "package lib; public class Value { public static int get() { return 2; } }";
const UNRELATED: &str = "package lib; public class Unrelated { public static int get() { return 1; } }";
const OTHER_UNRELATED: &str = "package lib; public class Unrelated { public static int get() { return 2; } }";

/// One test class uses `lib.Value`, the other nothing.
const TESTS: &[(&str, &str)] = &[
    ("UserTest.java", "class UserTest { @org.junit.jupiter.api.Test void uses() { lib.Value.get(); } }"),
    ("OtherTest.java", "class OtherTest { @org.junit.jupiter.api.Test void passes() {} }"),
];
const ALL: &[&str] = &["OtherTest", "UserTest"];
const USER: &[&str] = &["UserTest"];

fn project(name: &str) -> SmallProject {
    SmallProject::new("selection-cases", name)
}

/// With `lib.Value` in the folder "library", recorded.
fn recorded(name: &str) -> SmallProject {
    let project = project(name);
    project.compile("library", &[], &[("Value.java", VALUE)]);
    project.compile("classes", &["library"], TESTS);
    project.record(&["classes", "library"], &[], ALL);
    project
}

/// Whatever is selected, it is for a reason of this kind.
fn assert_because(told: &Told, kind: &str) {
    for test in &told.selected {
        assert_eq!(told.reasons_of(test), [kind], "{test}: {}", told.document);
    }
}

// ---- several stores

#[test]
fn what_the_shards_of_a_build_recorded_is_known_to_the_store_that_they_are_merged_into() {
    let roots = ["classes", "library"];
    for (name, test) in [("shard-1", &TESTS[..1]), ("shard-2", &TESTS[1..])] {
        let shard = project(name);
        shard.compile("library", &[], &[("Value.java", VALUE)]);
        shard.compile("classes", &["library"], test);
        shard.record(&roots, &[], &[test[0].0.trim_end_matches(".java")]);
    }
    let whole = project("merged");
    whole.compile("library", &[], &[("Value.java", VALUE)]);
    whole.compile("classes", &["library"], TESTS);
    let merge = |other: &str| untether(&whole.folder, &["store", "merge", other]);
    // By the folder of the project, and by its own.
    for other in ["../shard-1", "../shard-2/.untether"] {
        let merged = merge(other);
        assert!(merged.status.success(), "{}", text(&merged.stderr));
        assert!(text(&merged.stderr).contains("1 new record about 1 test class"), "{}", text(&merged.stderr));
    }
    whole.must_run(&roots, &[], &[]);
    whole.compile("library", &[], &[("Value.java", OTHER_VALUE)]);
    whole.must_run(&roots, &[], USER);
    for (other, message) in [("..", "there is no store in .."), (".", "is the store that others are to be added to")] {
        let refused = merge(other);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(message), "{}", text(&refused.stderr));
    }
}

// ---- where a class is found

#[test]
fn a_class_that_moved_between_folders_of_the_class_path_is_another() {
    let project = project("moved");
    project.compile("first", &[], &[("Value.java", VALUE), ("Unrelated.java", UNRELATED)]);
    project.compile("second", &[], &[]);
    project.compile("classes", &["first"], TESTS);
    let roots = ["classes", "first", "second"];
    project.record(&roots, &[], ALL);
    fs::create_dir_all(project.folder.join("second/lib")).unwrap();
    let rename = |name: &str| {
        fs::rename(project.folder.join("first/lib").join(name), project.folder.join("second/lib").join(name)).unwrap();
    };
    rename("Unrelated.class");
    assert_eq!(project.select().selected, set(&[]));
    rename("Value.class");
    assert_eq!(project.select().selected, set(USER));
    let told = project.must_run(&roots, &[], USER);
    assert_because(&told, "class");
    project.must_run(&roots, &[], &[]);
}

#[test]
fn a_class_that_is_shadowed_from_now_on_is_another_and_one_behind_it_is_not() {
    let project = project("shadowed");
    project.compile("before", &[], &[]);
    project.compile("library", &[], &[("Value.java", VALUE)]);
    project.compile("behind", &[], &[]);
    project.compile("classes", &["library"], TESTS);
    let roots = ["classes", "before", "library", "behind"];
    project.record(&roots, &[], ALL);
    project.compile("behind", &[], &[("Value.java", OTHER_VALUE)]);
    project.must_run(&roots, &[], &[]);
    project.compile("before", &[], &[("Value.java", OTHER_VALUE)]);
    project.must_run(&roots, &[], USER);
    // What it shadowed counts no more.
    project.compile("library", &[], &[("Value.java", OTHER_VALUE)]);
    project.must_run(&roots, &[], &[]);
    project.compile("before", &[], &[]);
    project.must_run(&roots, &[], USER);
}

#[test]
fn in_a_jar_of_the_same_name_only_the_classes_that_changed_count() {
    let project = project("jar");
    let pack = |value: &str, unrelated: &str| {
        project.compile("library", &[], &[("Value.java", value), ("Unrelated.java", unrelated)]);
        project.jar("library", "library.jar", "");
    };
    pack(VALUE, UNRELATED);
    project.compile("classes", &["library"], TESTS);
    let roots = ["classes", "library.jar"];
    project.record(&roots, &[], ALL);
    pack(VALUE, OTHER_UNRELATED);
    project.must_run(&roots, &[], &[]);
    pack(OTHER_VALUE, OTHER_UNRELATED);
    assert_eq!(project.select().selected, set(USER));
    let told = project.must_run(&roots, &[], USER);
    assert_because(&told, "class");
    // Packed again, without a change.
    pack(OTHER_VALUE, OTHER_UNRELATED);
    project.must_run(&roots, &[], &[]);
    fs::rename(project.folder.join("library.jar"), project.folder.join("library-2.jar")).unwrap();
    project.must_run(&["classes", "library-2.jar"], &[], &[]);
}

#[test]
fn an_unrelated_jar_may_come_change_and_go() {
    let project = recorded("unrelated-jar");
    project.compile("extra", &[], &[("Unrelated.java", UNRELATED)]);
    project.jar("extra", "extra.jar", "");
    let roots = ["classes", "extra.jar", "library"];
    project.must_run(&roots, &[], &[]);
    project.compile("extra", &[], &[("Unrelated.java", OTHER_UNRELATED)]);
    project.jar("extra", "extra.jar", "");
    project.must_run(&roots, &[], &[]);
    project.must_run(&["classes", "library"], &[], &[]);
}

#[test]
fn the_order_of_the_class_path_counts_where_a_class_is_in_two_places() {
    for is_jar in [false, true] {
        let project = project(if is_jar { "order-of-jars" } else { "order-of-folders" });
        project.compile("first", &[], &[("Value.java", VALUE)]);
        project.compile("second", &[], &[("Value.java", OTHER_VALUE)]);
        project.compile("third", &[], &[("Unrelated.java", UNRELATED)]);
        project.compile("classes", &["first"], TESTS);
        let name = |root: &str| if is_jar { format!("{root}.jar") } else { root.to_owned() };
        for root in ["first", "second", "third"] {
            project.jar(root, &format!("{root}.jar"), "");
        }
        let (first, second, third) = (name("first"), name("second"), name("third"));
        project.record(&["classes", &first, &second, &third], &[], ALL);
        project.must_run(&["classes", &third, &first, &second], &[], &[]);
        project.must_run(&[&first, "classes", &second, &third], &[], &[]);
        project.must_run(&["classes", &second, &first, &third], &[], USER);
        // Back again: that was seen before.
        project.must_run(&["classes", &first, &second, &third], &[], &[]);
    }
}

#[test]
fn a_class_that_a_test_looked_for_in_vain_counts_when_it_is_there() {
    let project = project("absent");
    let test = "class LooksTest {
                    @org.junit.jupiter.api.Test void looks() {
                        try { Class.forName(\"lib.Value\"); } catch (ClassNotFoundException absent) { }
                    }
                }";
    let sources = [("LooksTest.java", test), TESTS[1]];
    project.compile("library", &[], &[]);
    project.compile("classes", &[], &sources);
    let roots = ["classes", "library"];
    project.record(&roots, &[], &["LooksTest", "OtherTest"]);
    project.must_run(&roots, &[], &[]);
    project.compile("library", &[], &[("Value.java", VALUE)]);
    project.must_run(&roots, &[], &["LooksTest"]);
    project.compile("library", &[], &[]);
    project.must_run(&roots, &[], &[]);
}

// ---- what is the same

#[test]
fn a_class_that_the_jvm_looked_for_only_once_counts_for_all_who_ran_what_names_it() {
    let helper = "class Helper {
                      String find() {
                          try { return new Extra().toString(); } catch (NoClassDefFoundError absent) { return null; }
                      }
                  }";
    let test = |name: &str| {
        let source = format!("class {name} {{ @org.junit.jupiter.api.Test void finds() {{ new Helper().find(); }} }}");
        (format!("{name}.java"), source)
    };
    let project = SmallProject::new("selection-cases", "looked-for-once");
    let (first, second) = (test("ATest"), test("BTest"));
    let sources = [
        ("Helper.java", helper),
        ("Extra.java", "class Extra {}"),
        (first.0.as_str(), first.1.as_str()),
        (second.0.as_str(), second.1.as_str()),
        ("OtherTest.java", "class OtherTest { @org.junit.jupiter.api.Test void stands() { } }"),
    ];
    project.compile("classes", &[], &sources);
    let extra = project.folder.join("classes/Extra.class");
    let bytes = fs::read(&extra).unwrap();
    fs::remove_file(&extra).unwrap();
    project.record(&["classes"], &[], &["ATest", "BTest", "OtherTest"]);
    fs::write(&extra, bytes).unwrap();
    project.must_run(&["classes"], &[], &["ATest", "BTest"]);
}

#[test]
fn records_of_runs_that_did_not_watch_files_say_nothing_of_runs_that_do() {
    let reads = "class ATest { @org.junit.jupiter.api.Test void reads() throws Exception {
                     java.nio.file.Files.readString(java.nio.file.Path.of(\"read.txt\"));
                 } }";
    let project = SmallProject::new("selection-cases", "unwatched-files");
    project.compile("classes", &[], &[("ATest.java", reads)]);
    fs::write(project.folder.join("read.txt"), "first").unwrap();
    let without = |project: &SmallProject| {
        let mut run = support::command(&project.folder, &["run", "--no-external", "--format", "json", "--"]);
        run.args(project.build(&["classes"], &[]));
        project.told_by(project.with_notes(run))
    };
    assert_eq!(without(&project).ran, set(&["ATest"]));
    fs::write(project.folder.join("read.txt"), "other").unwrap();
    assert_eq!(without(&project).ran, set(&[]), "whoever does not watch files runs nothing for them");
    let told = project.must_run(&["classes"], &[], &["ATest"]);
    assert_because(&told, "environment");
    project.must_run(&["classes"], &[], &[]);
}

#[test]
fn the_jdks_classes_stay_shared_while_uses_are_recorded() {
    let project = recorded("shared-classes");
    // A JVM that cannot share them does not start with this option.
    let told = project.run(&["classes", "library"], &["-Xshare:on"]);
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(!told.ran.is_empty(), "{told:?}");
    project.must_run(&["classes", "library"], &["-Xshare:on"], &[]);
}

#[test]
fn whoever_gets_no_answer_runs_everything() {
    let project = recorded("no-answer");
    project.must_run(&["classes", "library"], &[], &[]);
    let mut run = support::command(&project.folder, &["run", "--format", "json", "--"]);
    run.args(["sh", "-c", "find .untether -type s -delete; exec \"$@\"", "sh"])
        .args(project.build(&["classes", "library"], &[]));
    let told = project.told_by(project.with_notes(run));
    assert_eq!(told.code, Some(0), "{}", told.said);
    assert!(!told.ran.is_empty() && told.skipped.is_empty(), "{told:?}");
}

#[test]
fn an_audit_reports_what_was_wrongly_left_out() {
    let reads = "class ATest { @org.junit.jupiter.api.Test void reads() throws Exception {
                     String text = java.nio.file.Files.readString(java.nio.file.Path.of(\"read.txt\"));
                     org.junit.jupiter.api.Assertions.assertEquals(\"right\", text);
                 } }";
    let project = SmallProject::new("selection-cases", "audited");
    project.compile("classes", &[], &[("ATest.java", reads)]);
    let run = |content: &str, arguments: &[&str]| {
        fs::write(project.folder.join("read.txt"), content).unwrap();
        // Files are not watched, so that there is something to miss.
        let words = [&["run", "--no-external", "--format", "json"], arguments, &["--"]].concat();
        let mut run = support::command(&project.folder, &words);
        run.args(project.build(&["classes"], &[]));
        project.told_by(project.with_notes(run))
    };
    assert_eq!(run("right", &[]).ran, set(&["ATest"]));
    let audited = run("right", &["--audit"]);
    assert_eq!((audited.code, audited.skipped), (Some(0), set(&["ATest"])), "{}", audited.said);
    assert_eq!(audited.document["contradictions"], serde_json::json!([]));
    let audited = run("wrong", &["--audit"]);
    assert_eq!(audited.code, Some(1), "{}", audited.said);
    assert_eq!(audited.document["contradictions"], serde_json::json!(["ATest#reads"]), "{}", audited.document);
}

#[test]
fn what_was_compiled_again_or_touched_is_the_same() {
    let project = recorded("same");
    let roots = ["classes", "library"];
    for home in jdks() {
        project.compile_by(&home, "library", &[], &[("Value.java", VALUE)]);
        project.compile_by(&home, "classes", &["library"], TESTS);
        project.must_run(&roots, &[], &[]);
    }
    for (file, age) in [("library/lib/Value.class", 5), ("classes/UserTest.class", 100_000)] {
        let time = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(project.folder.join(file)).unwrap().set_modified(time).unwrap();
    }
    assert_eq!(project.select().selected, set(&[]));
    project.must_run(&roots, &[], &[]);
}

#[test]
fn a_change_that_keeps_the_size_and_time_of_a_file_is_seen() {
    let project = recorded("same-size-and-time");
    let file = project.folder.join("library/lib/Value.class");
    let before = fs::metadata(&file).unwrap();
    project.compile("library", &[], &[("Value.java", OTHER_VALUE)]);
    File::options().write(true).open(&file).unwrap().set_modified(before.modified().unwrap()).unwrap();
    let after = fs::metadata(&file).unwrap();
    assert_eq!((before.len(), before.modified().unwrap()), (after.len(), after.modified().unwrap()));
    project.must_run(&["classes", "library"], &[], USER);
}

#[test]
fn what_is_compiled_between_two_jvms_of_one_run_is_seen() {
    let project = recorded("between");
    project.compile("other", &[], &[("Value.java", OTHER_VALUE)]);
    let build = project.build(&["classes", "library"], &[]).join(" ");
    let script = format!("{build} && cp other/lib/Value.class library/lib/Value.class && {build}");
    let run = support::command(&project.folder, &["run", "--format", "json", "--", "sh", "-c", &script]);
    let told = project.told_by(project.with_notes(run));
    assert_eq!((told.code, &told.ran), (Some(0), &set(USER)), "{}", told.said);
    project.must_run(&["classes", "library"], &[], &[]);
}

// ---- the JVM

#[test]
fn another_option_of_the_jvm_selects_all_until_it_is_as_it_was() {
    let project = recorded("options");
    let roots = ["classes", "library"];
    fs::write(project.folder.join("options"), "-Xss2m").unwrap();
    for options in [&["-ea"][..], &["-Xmx300m"], &["-XX:+UseSerialGC"], &["@options"]] {
        let told = project.must_run(&roots, options, ALL);
        assert_because(&told, "environment");
        project.must_run(&roots, options, &[]);
    }
    // The same word on the command line, but another option.
    fs::write(project.folder.join("options"), "-Xss3m").unwrap();
    let told = project.must_run(&roots, &["@options"], ALL);
    assert_because(&told, "environment");
    project.must_run(&roots, &[], &[]);
}

#[test]
fn options_in_a_file_of_the_jvm_count_as_they_stand_there() {
    let project = recorded("options-file");
    let roots = ["classes", "library"];
    let file = project.folder.join("options");
    for (option, content) in [("-XX:VMOptionsFile=options", "-Dmode="), ("-XX:Flags=options", "MaxHeapSize=")] {
        fs::write(&file, format!("{content}300000000\n")).unwrap();
        project.must_run(&roots, &[option], ALL);
        fs::write(&file, format!("{content}400000000\n")).unwrap();
        project.must_run(&roots, &[option], ALL);
        project.must_run(&roots, &[option], &[]);
    }
}

#[test]
fn options_in_the_environment_count() {
    let project = recorded("variables");
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        let with = |value: &str| {
            let mut command = project.command(&["classes", "library"], &[]);
            command.env(variable, value);
            project.told_by(command)
        };
        for value in ["-Dmode=fast", "-Dmode=slow"] {
            assert_eq!(with(value).ran, set(ALL), "{variable}={value}");
            assert_eq!(with(value).ran, set(&[]), "{variable}={value}");
        }
    }
}

#[test]
fn another_jdk_selects_all_until_it_is_the_one_before() {
    let mut project = recorded("jdk");
    let roots = ["classes", "library"];
    let usual = feature_version(&project.home);
    for home in jdks().into_iter().filter(|home| feature_version(home) != usual) {
        let first = std::mem::replace(&mut project.home, home);
        let told = project.must_run(&roots, &[], ALL);
        assert_because(&told, "environment");
        project.must_run(&roots, &[], &[]);
        project.home = first;
        project.must_run(&roots, &[], &[]);
    }
}

#[test]
fn classes_in_front_of_the_jdks_count() {
    let project = project("boot");
    project.compile("library", &[], &[("Value.java", VALUE)]);
    project.jar("library", "boot.jar", "");
    project.compile("classes", &["library"], TESTS);
    let options = [&*format!("-Xbootclasspath/a:{}", project.folder.join("boot.jar").display())];
    project.record(&["classes"], &options, ALL);
    project.compile("library", &[], &[("Value.java", OTHER_VALUE)]);
    project.jar("library", "boot.jar", "");
    let told = project.run(&["classes"], &options);
    assert!(told.ran.contains("UserTest"), "{told:?}");
}

// ---- agents

/// Rewrites the number that `lib.Value` gives; to what it is, not at all.
const AGENT: &str = r#"
    package agent;
    import java.lang.instrument.*;
    import java.security.ProtectionDomain;
    public class Agent implements ClassFileTransformer {
        static final int TO = NUMBER;
        public static void premain(String options, Instrumentation instrumentation) {
            instrumentation.addTransformer(new Agent(), CAN_RETRANSFORM);
        }
        @Override public byte[] transform(
                ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
            if (TO == 1 || !"lib/Value".equals(name)) return null;
            byte[] copy = bytes.clone();
            // iconst_1, ireturn
            for (int at = 0; at + 1 < copy.length; at++) {
                if (copy[at] == 4 && copy[at + 1] == (byte) 172) copy[at] = (byte) (3 + TO);
            }
            return copy;
        }
    }"#;

#[test]
fn no_agent_that_rewrites_classes_leads_to_a_test_that_is_wrongly_left_out() {
    for can_retransform in ["false", "true"] {
        let project = project(&format!("agent-{can_retransform}"));
        let test = "class UserTest {
                        @org.junit.jupiter.api.Test void uses() throws Exception {
                            byte[] value = Integer.toString(lib.Value.get()).getBytes();
                            java.nio.file.Files.write(java.nio.file.Path.of(\"value\"), value);
                        }
                    }";
        project.compile("library", &[], &[("Value.java", VALUE)]);
        project.compile("classes", &["library"], &[("UserTest.java", test), TESTS[1]]);
        let roots = ["classes", "library"];
        let agent = |number: &str| {
            let source = AGENT.replace("NUMBER", number).replace("CAN_RETRANSFORM", can_retransform);
            project.compile("agent", &[], &[("Agent.java", &source)]);
            project.jar("agent", "agent.jar", "Premain-Class: agent.Agent\nCan-Retransform-Classes: true\n");
        };
        let value = || fs::read_to_string(project.folder.join("value")).unwrap();
        let option = format!("-javaagent:{}", project.folder.join("agent.jar").display());
        project.record(&roots, &[], ALL);
        assert_eq!(value(), "1");
        // It came, and does nothing; then other ones of the same name.
        for number in ["1", "2", "3"] {
            agent(number);
            let told = project.run(&roots, &[&option]);
            assert_eq!(told.code, Some(0), "{}", told.said);
            assert_eq!(value(), number, "{can_retransform}: {:?}", told.document);
        }
    }
}

// ---- what failed

#[test]
fn what_failed_is_run_again_although_nothing_changed_and_no_more_when_it_passes() {
    let project = project("failed");
    let fails = "class FailsTest {
                     @org.junit.jupiter.api.Test void fails() {
                         if (!new java.io.File(\"mended\").exists()) throw new IllegalStateException(\"not mended\");
                     }
                 }";
    project.compile("classes", &[], &[("FailsTest.java", fails), TESTS[1]]);
    let roots = ["classes"];
    let first = project.run(&roots, &[]);
    assert_eq!((first.code, first.ran), (Some(1), set(&["FailsTest", "OtherTest"])), "{}", first.said);
    for _ in 0..2 {
        assert_eq!(project.select().selected, set(&["FailsTest"]));
        let again = project.must_run(&roots, &[], &["FailsTest"]);
        assert_because(&again, "failed");
        assert_eq!(again.code, Some(1));
    }
    fs::write(project.folder.join("mended"), "").unwrap();
    assert_eq!(project.must_run(&roots, &[], &["FailsTest"]).code, Some(0));
    assert_eq!(project.must_run(&roots, &[], &[]).code, Some(0));
}

#[test]
fn a_class_whose_fixture_failed_is_run_again() {
    let project = project("failed-fixture");
    let fails = "class FailsTest {
                     @org.junit.jupiter.api.BeforeAll static void prepare() { throw new IllegalStateException(); }
                     @org.junit.jupiter.api.Test void passes() { }
                 }";
    let broken = "class BrokenTest {
                     static final int NUMBER = Integer.parseInt(\"x\");
                     @org.junit.jupiter.api.Test void passes() { }
                 }";
    project.compile("classes", &[], &[("FailsTest.java", fails), ("BrokenTest.java", broken), TESTS[1]]);
    assert_eq!(project.run(&["classes"], &[]).code, Some(1));
    let again = project.must_run(&["classes"], &[], &["BrokenTest", "FailsTest"]);
    assert_eq!(again.code, Some(1), "{}", again.said);
}
