//! Writes a made-up suite as Java.

use std::fmt::Write as _;

use super::generator::{Fixtures, Framework, Mocks, Suite, TestClass};

const CHECK: &str = "/** Says in which cell a test found what it did not expect. */
final class Check {
  static void that(String cell, boolean holds) { if (!holds) throw new AssertionError(\"[\" + cell + \"] is not as expected\"); }
}
";

const NOISE: &str = "/** What every test changes and none depends on. */
final class Noise {
  static int counter;
  static final Map<String, Integer> CALLS = new HashMap<>();
}
";

/// File names and what is in them.
pub(crate) fn sources(suite: &Suite) -> Vec<(String, String)> {
    let file =
        |name: &str, text: &str| (format!("{name}.java"), format!("package truth;\n\nimport java.util.*;\n\n{text}"));
    let mut files = vec![file("Check", CHECK), file("Noise", NOISE)];
    files.extend(suite.cells.iter().map(|cell| file(&cell.class, &format!("/** {} */\n{}\n", cell.kind, cell.source))));
    if suite.classes.iter().any(|class| class.has_base) {
        let text = format!(
            "{}\npublic abstract class Base {{\n{}}}\n",
            imports(suite),
            fixtures(&suite.base, suite.framework, "Base")
        );
        files.push(file("Base", &text));
    }
    files.extend(suite.classes.iter().map(|class| file(&class.name, &test_class(suite, class))));
    files
}

fn imports(suite: &Suite) -> &'static str {
    match (suite.framework, suite.has_mocks) {
        (Framework::JUnit4, false) => "import org.junit.*;\n",
        (Framework::JUnit4, true) => {
            "import org.junit.*;\nimport org.junit.runner.RunWith;\nimport org.junit.runners.MethodSorters;\nimport \
             org.mockito.Mock;\nimport org.mockito.Mockito;\nimport org.mockito.junit.*;\n"
        }
        (Framework::Jupiter, false) => "import org.junit.jupiter.api.*;\n",
        (Framework::Jupiter, true) => {
            "import org.junit.jupiter.api.*;\nimport org.junit.jupiter.api.extension.ExtendWith;\nimport \
             org.mockito.Mock;\nimport org.mockito.Mockito;\nimport org.mockito.junit.jupiter.MockitoExtension;\n"
        }
    }
}

fn test_class(suite: &Suite, class: &TestClass) -> String {
    let mut text = imports(suite).to_owned() + "\n";
    match (suite.framework, class.mocks) {
        (_, Mocks::None) | (Framework::JUnit4, Mocks::Extension) => {}
        (Framework::JUnit4, Mocks::Runner) => {
            text += "@RunWith(MockitoJUnitRunner.class)\n@FixMethodOrder(MethodSorters.NAME_ASCENDING)\n";
        }
        (Framework::Jupiter, _) => text += "@ExtendWith(MockitoExtension.class)\n",
    }
    let base = if class.has_base { " extends Base" } else { "" };
    let _ = writeln!(text, "public class {}{base} {{", class.name);
    for statement in &class.initializer {
        let _ = writeln!(text, "  static {{ {statement} }}");
    }
    if class.mocks != Mocks::None {
        text += "  @Mock Runnable mock;\n";
    }
    if (suite.framework, class.mocks) == (Framework::JUnit4, Mocks::Extension) {
        text += "  @Rule public MockitoRule mockito = MockitoJUnit.rule();\n";
    }
    text += &fixtures(&class.fixtures, suite.framework, "");
    for test in &class.tests {
        let _ = writeln!(text, "\n  @Test\n  public void {}() {{", test.name);
        text += &block(&test.body);
        text += "  }\n";
    }
    text + "}\n"
}

/// With a name of its own for each class, so that none hides an inherited one.
fn fixtures(fixtures: &Fixtures, framework: Framework, owner: &str) -> String {
    let [before_class, after_class, before, after] = match framework {
        Framework::JUnit4 => ["BeforeClass", "AfterClass", "Before", "After"],
        Framework::Jupiter => ["BeforeAll", "AfterAll", "BeforeEach", "AfterEach"],
    };
    let mut text = String::new();
    for (annotation, modifier, name, statements) in [
        (before_class, "static ", "beforeClass", &fixtures.before_class),
        (after_class, "static ", "afterClass", &fixtures.after_class),
        (before, "", "before", &fixtures.before),
        (after, "", "after", &fixtures.after),
    ] {
        if !statements.is_empty() {
            let _ = writeln!(text, "\n  @{annotation}\n  public {modifier}void {name}{owner}() {{");
            text += &block(statements);
            text += "  }\n";
        }
    }
    text
}

/// Each in braces: some have variables.
fn block(statements: &[String]) -> String {
    statements.iter().map(|statement| format!("    {{ {statement} }}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::generator::suite;
    use super::*;

    #[test]
    fn every_test_and_every_cell_is_written() {
        for number in 0..8 {
            let suite = suite(2, number, None);
            let files = sources(&suite);
            let text: String = files.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(text.matches("@Test\n").count(), suite.tests().len());
            assert!(
                suite.cells.iter().all(|cell| files.iter().any(|(name, _)| *name == format!("{}.java", cell.class)))
            );
            assert_eq!(text.contains("org.mockito"), suite.has_mocks);
        }
    }
}
