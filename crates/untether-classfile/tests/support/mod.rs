//! What tests over real classes share: the JDKs of this machine, their classes, and mutations of them.
//! The tests of weaving include this file too; it must not know what a test does with a class.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

pub mod mutation;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use untether_classfile::ClassFile;

/// One JDK of 17 or newer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    pub home: PathBuf,
    pub version: String,
}

/// A class file as it lies in a JDK; the name is `module/package/Class`.
#[derive(Debug, Clone)]
pub struct Class {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Every JDK on this machine: `JAVA_HOME`, then the usual folder; the oldest first.
pub fn jdks() -> Vec<Jdk> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    if let Ok(entries) = fs::read_dir("/usr/lib/jvm") {
        homes.extend(entries.flatten().map(|entry| entry.path()));
    }
    let mut found: Vec<Jdk> = homes.iter().filter_map(|home| Jdk::at(home)).collect();
    found.sort_by_key(|jdk| (jdk.feature(), jdk.home.clone()));
    found.dedup();
    assert!(!found.is_empty(), "no JDK of 17 or newer found: install one or set JAVA_HOME");
    found
}

pub fn newest_jdk() -> Jdk {
    jdks().pop().unwrap()
}

impl Jdk {
    fn at(home: &Path) -> Option<Jdk> {
        let home = home.canonicalize().ok()?;
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"').to_owned();
        let jdk = Jdk { home, version };
        (jdk.home.join("bin/javac").exists() && jdk.feature() >= 17).then_some(jdk)
    }

    pub fn feature(&self) -> u32 {
        self.version.split(['.', '-', '+']).next().and_then(|feature| feature.parse().ok()).unwrap_or(0)
    }

    /// A name that no other JDK of this machine has, fit for a file.
    pub fn label(&self) -> String {
        format!("{}-{}", self.home.display().to_string().trim_start_matches('/').replace('/', "_"), self.version)
    }

    pub fn command(&self, tool: &str) -> Command {
        let mut command = Command::new(self.home.join("bin").join(tool));
        command.env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
        command
    }

    /// The classes as files, a folder per module. They are unpacked once; the folder gets its name when
    /// it is complete, so that an interrupted run leaves nothing half done to be found.
    fn unpacked(&self) -> PathBuf {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let folder = scratch("jdk-classes").join(self.label());
        if folder.exists() {
            return folder;
        }
        let unfinished = folder.with_extension(format!("unfinished-{}", std::process::id()));
        let _ = fs::remove_dir_all(&unfinished);
        if self.home.join("bin/jimage").exists() && self.home.join("lib/modules").exists() {
            self.unpack_image(&unfinished);
        } else {
            self.unpack_jmods(&unfinished);
        }
        if fs::rename(&unfinished, &folder).is_err() {
            assert!(folder.exists(), "{} cannot be made", folder.display());
            fs::remove_dir_all(&unfinished).unwrap();
        }
        folder
    }

    fn unpack_image(&self, folder: &Path) {
        let output = self
            .command("jimage")
            .args(["extract", "--include", r"regex:.*\.class", "--dir"])
            .arg(folder)
            .arg(self.home.join("lib/modules"))
            .output()
            .unwrap();
        assert!(output.status.success(), "jimage: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn unpack_jmods(&self, folder: &Path) {
        for entry in fs::read_dir(self.home.join("jmods")).unwrap() {
            let path = entry.unwrap().path();
            let module = folder.join(path.file_stem().unwrap());
            let mut archive = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
            for index in 0..archive.len() {
                let mut file = archive.by_index(index).unwrap();
                let name = file.name().unwrap().into_owned();
                let Some(name) = name.strip_prefix("classes/").filter(|name| name.ends_with(".class")) else {
                    continue;
                };
                let target = module.join(name);
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                fs::write(target, bytes).unwrap();
            }
        }
    }

    /// The class files under a folder such as `java.base/java/util`, in the order of their names.
    pub fn class_files(&self, folder: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.unpacked().join(folder), &mut files);
        files.sort();
        files
    }

    pub fn classes(&self, folder: &str) -> Vec<Class> {
        self.class_files(folder).iter().map(|file| self.class(file)).collect()
    }

    fn class(&self, file: &Path) -> Class {
        let name = file.strip_prefix(scratch("jdk-classes").join(self.label())).unwrap().with_extension("");
        Class { name: name.display().to_string(), bytes: fs::read(file).unwrap() }
    }

    /// Runs `check` on every class, on all cores, and gives their number and the first complaints.
    pub fn check_classes(&self, check: impl Fn(&Class) -> Result<(), String> + Sync) -> (usize, Vec<String>) {
        let files = self.class_files("");
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        let complaints = thread::scope(|scope| {
            let workers: Vec<_> = files
                .chunks(files.len().div_ceil(cores).max(1))
                .map(|part| {
                    scope.spawn(|| part.iter().filter_map(|file| self.complaint(file, &check)).take(5).collect())
                })
                .collect();
            workers.into_iter().flat_map(|worker| -> Vec<String> { worker.join().unwrap() }).collect()
        });
        (files.len(), complaints)
    }

    fn complaint(&self, file: &Path, check: impl Fn(&Class) -> Result<(), String>) -> Option<String> {
        let class = self.class(file);
        check(&class).err().map(|complaint| format!("{}: {complaint}", class.name))
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), files);
        } else if entry.path().extension().is_some_and(|extension| extension == "class") {
            files.push(entry.path());
        }
    }
}

/// A folder for files that tests make, kept between runs.
pub fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Name and descriptor of each method with code, and the content of its `Code` attribute.
pub fn codes<'c>(class: &'c ClassFile<'_>) -> impl Iterator<Item = (String, &'c [u8])> {
    class.methods.iter().filter_map(|method| {
        let text = |index| String::from_utf8_lossy(class.pool.utf8(index).unwrap_or(b"?")).into_owned();
        let code = method.attribute(&class.pool, b"Code")?;
        Some((text(method.name_index) + &text(method.descriptor_index), &*code.content))
    })
}
