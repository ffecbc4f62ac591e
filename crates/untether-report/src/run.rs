//! The tests of a run and what they are called: short where that says enough, with their module where it does not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use untether_model::{Detection, Unit, UnitKind, class_of, simple_name};

/// The number of a test or class of a [`Run`]: tests first, in the order in which they ran.
pub type Party = u32;

/// One that can depend and be depended on.
#[derive(Debug)]
pub(crate) struct PartyEntry<'d> {
    /// `pkg.Class#method`, or `pkg.Class` for the fixtures of a class, or for all of it between classes.
    pub(crate) id: &'d str,
    /// Into [`Run::modules`].
    pub(crate) module: usize,
    /// None of a class.
    pub(crate) test: Option<&'d Unit>,
}

/// What all JVMs of a run did.
#[derive(Debug)]
pub struct Run<'d> {
    pub(crate) detections: &'d [Detection],
    pub(crate) modules: Vec<String>,
    /// The module of each detection.
    pub(crate) module_of: Vec<usize>,
    pub(crate) parties: Vec<PartyEntry<'d>>,
    /// By detection and unit.
    units: Vec<Vec<Party>>,
    classes: HashMap<(usize, &'d str), Party>,
    /// Ids that tests of several modules have.
    shared_ids: BTreeSet<&'d str>,
    /// Names without package that classes of several packages have.
    shared_names: BTreeSet<&'d str>,
}

impl<'d> Run<'d> {
    /// `folder` is the one from which modules are named: that of the whole project.
    pub fn new(detections: &'d [Detection], folder: &Path) -> Self {
        let names: Vec<String> = detections.iter().map(|d| module_name(&d.launch.directory, folder)).collect();
        let mut modules: Vec<String> = Vec::new();
        let mut module_of = Vec::new();
        for name in names {
            let known = modules.iter().position(|module| *module == name);
            module_of.push(known.unwrap_or(modules.len()));
            if known.is_none() {
                modules.push(name);
            }
        }
        let mut run = Run {
            detections,
            modules,
            module_of,
            parties: Vec::new(),
            units: detections.iter().map(|d| vec![0; d.units.len()]).collect(),
            classes: HashMap::new(),
            shared_ids: BTreeSet::new(),
            shared_names: BTreeSet::new(),
        };
        run.number_tests();
        run.number_classes();
        run.find_shared_names();
        run
    }

    fn number_tests(&mut self) {
        for (jvm, detection) in self.detections.iter().enumerate() {
            for (unit, test) in detection.units.iter().enumerate().filter(|(_, unit)| unit.kind == UnitKind::Test) {
                self.units[jvm][unit] = self.parties.len() as Party;
                self.parties.push(PartyEntry { id: &test.name, module: self.module_of[jvm], test: Some(test) });
            }
        }
    }

    fn number_classes(&mut self) {
        for (jvm, detection) in self.detections.iter().enumerate() {
            let module = self.module_of[jvm];
            for (number, unit) in detection.units.iter().enumerate() {
                let next = self.parties.len() as Party;
                let class = *self.classes.entry((module, unit.class())).or_insert(next);
                if class == next {
                    self.parties.push(PartyEntry { id: unit.class(), module, test: None });
                }
                if unit.kind == UnitKind::Class {
                    self.units[jvm][number] = class;
                }
            }
        }
    }

    fn find_shared_names(&mut self) {
        let mut modules: BTreeMap<&'d str, usize> = BTreeMap::new();
        let mut classes: BTreeMap<&'d str, &'d str> = BTreeMap::new();
        for party in &self.parties {
            if *modules.entry(party.id).or_insert(party.module) != party.module {
                self.shared_ids.insert(party.id);
            }
            let class = class_of(party.id);
            if *classes.entry(simple_name(class)).or_insert(class) != class {
                self.shared_names.insert(simple_name(class));
            }
        }
    }

    pub(crate) fn party(&self, party: Party) -> &PartyEntry<'d> {
        &self.parties[party as usize]
    }

    pub(crate) fn party_of_unit(&self, jvm: usize, unit: u32, is_class_level: bool) -> Party {
        if is_class_level {
            let class = self.detections[jvm].unit(unit).class();
            return self.classes.get(&(self.module_of[jvm], class)).copied().unwrap_or(0);
        }
        self.units[jvm][unit as usize]
    }

    pub fn id(&self, party: Party) -> &'d str {
        self.party(party).id
    }

    /// The shortest name that means nothing else.
    pub fn label(&self, party: Party) -> String {
        let entry = self.party(party);
        let class = class_of(entry.id);
        let name = if self.shared_names.contains(simple_name(class)) {
            entry.id
        } else {
            &entry.id[class.len() - simple_name(class).len()..]
        };
        self.with_module(party, name)
    }

    /// The id, with its module where others have the same.
    pub(crate) fn full_label(&self, party: Party) -> String {
        self.with_module(party, self.id(party))
    }

    fn with_module(&self, party: Party, name: &str) -> String {
        let entry = self.party(party);
        if self.shared_ids.contains(entry.id) {
            return format!("{}:{name}", self.modules[entry.module]);
        }
        name.to_owned()
    }
}

/// The folder below that of the project, or the last part of its name.
fn module_name(directory: &str, folder: &Path) -> String {
    let directory = Path::new(directory);
    let below = directory.strip_prefix(folder).ok().filter(|below| !below.as_os_str().is_empty());
    let last = || directory.file_name().map(Path::new);
    below.or_else(last).map_or_else(|| ".".to_owned(), |path| path.display().to_string())
}
