//! Values of secrets reach no file, and workers get them from whoever starts them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use support::{class_path_with, command, fresh, text};

/// A part of every secret.
const SECRET: &str = "hunter2";

/// Needs all secrets, and looks for them in the files of the run that it is part of.
const SUITE: &str = r#"
import static org.junit.jupiter.api.Assertions.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.*;
import org.junit.jupiter.api.*;

class SecretsTest {
    @Test void areThere() {
        assertEquals("hunter2-environment", System.getenv("DB_PASSWORD"));
        assertEquals("hunter2-house", System.getenv("HOUSE_NUMBER"));
        assertEquals("hunter2-property", System.getProperty("api.token"));
        assertEquals("red", System.getenv("COLOUR"));
    }

    @Test void areInNoFile() throws Exception {
        String needle = "hun" + "ter2";
        int traces = 0;
        try (Stream<Path> files = Files.walk(Paths.get(".untether"))) {
            for (Path file : files.collect(Collectors.toList())) {
                String permissions = PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
                if (Files.isDirectory(file)) {
                    // The store's and the run's; others are inside.
                    assertTrue(permissions.equals("rwx------") || file.getNameCount() > 2, file.toString());
                    continue;
                }
                String content = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
                assertFalse(content.contains(needle), file.toString());
                if (file.toString().endsWith(".trace") || file.toString().contains("store.sqlite")) {
                    assertEquals("rw-------", permissions, file.toString());
                    traces += content.contains("java.vendor") ? 1 : 0;
                }
            }
        }
        // A run that is watched has told its properties by now; a worker has no trace.
        assertTrue(traces > 0 || System.getProperty("sun.java.command").contains("plan-"));
    }
}
"#;

/// Runs with the secrets in the environment; the property's stands there under the name that it would have.
fn run(folder: &Path, arguments: &[&str], has_secrets: bool) -> Output {
    let mut command = command(folder, arguments);
    if has_secrets {
        command
            .env("DB_PASSWORD", "hunter2-environment")
            .env("HOUSE_NUMBER", "hunter2-house")
            .env("API_TOKEN", "hunter2-property");
    }
    command.env("COLOUR", if has_secrets { "red" } else { "green" }).output().unwrap()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn secrets_reach_no_file_and_workers_get_them_from_our_environment() {
    let folder = fresh("secrets", "suite");
    let class_path = class_path_with(&folder, &[("SecretsTest.java", SUITE)]);
    std::fs::write(folder.join("untether.toml"), "[store]\nsecrets = [\"HOUSE_*\"]\n").unwrap();
    let property = "-Dapi.token=hunter2-property";
    let detected = run(&folder, &["detect", "--classpath", &class_path, "--jvm-arg", property], true);
    assert!(detected.status.success(), "{}{}", text(&detected.stdout), text(&detected.stderr));
    let store = folder.join(".untether");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&store), mode(&store.join("store.sqlite"))), (0o700, 0o600));
    for file in files(&store) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{}", file.display());
    }

    let doctor = text(&run(&folder, &["doctor"], false).stdout);
    for name in ["DB_PASSWORD", "HOUSE_NUMBER", "api.token"] {
        assert_eq!(doctor.lines().filter(|line| line.contains(name)).count(), 1, "{name}: {doctor}");
    }
    assert!(!doctor.contains("COLOUR"), "{doctor}");

    // All else is as it was captured, whatever it is now.
    let refined = |has_secrets: bool| -> serde_json::Value {
        let output = run(&folder, &["refine", "--quiet", "--fresh", "--format", "json"], has_secrets);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)))
    };
    assert_eq!(refined(true)["differing"].as_array().unwrap().len(), 0);
    assert_eq!(refined(false)["differing"][0], "SecretsTest#areThere");
}
