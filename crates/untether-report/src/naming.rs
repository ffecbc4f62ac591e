//! Which tests are meant by what a person typed.

use std::collections::{BTreeSet, HashSet};

use untether_model::{Unit, class_of, method_of};

use crate::run::{Party, Run};

/// Whether `given` names the test: its id, its method (for all of its invocations) or its class, in full or without the
/// package.
pub fn is_named(id: &str, given: &str) -> bool {
    forms(id).iter().any(|name| *name == given || ends_with(name, given))
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    #[error("no test or class named '{given}' in the last run; {hint}")]
    Unknown { given: String, hint: String },
    #[error("'{given}' may be {}", matches.join(" or "))]
    Ambiguous { given: String, matches: Vec<String> },
    #[error("no module named '{given}' in the last run, but {}", modules.join(", "))]
    NoModule { given: String, modules: Vec<String> },
}

/// The tests and fixtures that a name stands for.
#[derive(Debug)]
pub struct Meant<'d> {
    /// By module and id.
    names: HashSet<(usize, &'d str)>,
    classes: HashSet<(usize, &'d str)>,
    /// The name in full.
    pub label: String,
}

impl Meant<'_> {
    pub(crate) fn holds(&self, module: usize, unit: &Unit, is_class_level: bool) -> bool {
        if is_class_level {
            return self.classes.contains(&(module, unit.class()));
        }
        self.names.contains(&(module, unit.name.as_str()))
    }

    /// Whether it is about the test, or about another invocation of its method; whatever the module.
    pub fn mentions(&self, test: &str) -> bool {
        self.names.iter().any(|(_, id)| method_of(id) == method_of(test))
    }
}

/// A test, all invocations of a method, or a class with its tests and fixtures.
type Thing<'d> = (usize, &'d str);

impl<'d> Run<'d> {
    /// The one test, method or class of that name.
    pub fn find(&self, given: &str, module: Option<&str>) -> Result<Meant<'d>, NameError> {
        let things = self.things(given, module)?;
        if things.len() > 1 {
            let mut matches: Vec<String> = things.iter().map(|thing| self.thing_label(thing)).collect();
            const MOST: usize = 8;
            let left = matches.len().saturating_sub(MOST);
            matches.truncate(MOST);
            if left > 0 {
                matches.push(format!("one of {left} others"));
            }
            return Err(NameError::Ambiguous { given: given.to_owned(), matches });
        }
        Ok(self.meant(&things))
    }

    /// Everything of that name.
    pub fn find_all(&self, given: &str, module: Option<&str>) -> Result<Meant<'d>, NameError> {
        Ok(self.meant(&self.things(given, module)?))
    }

    /// Everything in the module.
    pub fn find_module(&self, module: &str) -> Result<Meant<'d>, NameError> {
        let number = self.module(module)?;
        let all = self.parties.iter().filter(|party| party.module == number);
        Ok(self.meant(&all.map(|party| (number, class_of(party.id))).collect()))
    }

    pub fn is_meant(&self, party: Party, meant: &Meant<'_>) -> bool {
        let entry = self.party(party);
        meant.names.contains(&(entry.module, entry.id))
    }

    fn meant(&self, things: &BTreeSet<Thing<'d>>) -> Meant<'d> {
        let is_meant = |module: usize, id: &'d str| forms(id).iter().any(|form| things.contains(&(module, form)));
        let parties = self.parties.iter().filter(|party| is_meant(party.module, party.id));
        let names: HashSet<(usize, &str)> = parties.map(|party| (party.module, party.id)).collect();
        let classes = names.iter().map(|&(module, id)| (module, class_of(id))).collect();
        let label = things.iter().next().map(|thing| self.thing_label(thing)).unwrap_or_default();
        Meant { names, classes, label }
    }

    fn thing_label(&self, &(module, name): &Thing<'_>) -> String {
        let others = self.parties.iter().filter(|party| party.module != module);
        if others.flat_map(|party| forms(party.id)).any(|form| form == name) {
            return format!("{}:{name}", self.modules[module]);
        }
        name.to_owned()
    }

    fn module(&self, given: &str) -> Result<usize, NameError> {
        let is_named = |module: &String| module == given || module.rsplit('/').next() == Some(given);
        let exact = self.modules.iter().position(|module| module == given);
        exact
            .or_else(|| self.modules.iter().position(is_named))
            .ok_or_else(|| NameError::NoModule { given: given.to_owned(), modules: self.modules.clone() })
    }

    /// The best matches: full names, else ends of names, else methods without their class.
    fn things(&self, given: &str, module: Option<&str>) -> Result<BTreeSet<Thing<'d>>, NameError> {
        let mut module = module.map(|module| self.module(module)).transpose()?;
        let mut name = given;
        // Names of invocations may have colons too.
        if let Some((before, after)) = given.split_once(':')
            && let Ok(number) = self.module(before)
        {
            (module, name) = (Some(number), after);
        }
        let mut levels: [BTreeSet<Thing<'d>>; 3] = Default::default();
        for party in self.parties.iter().filter(|party| module.is_none_or(|module| party.module == module)) {
            for form in forms(party.id) {
                if let Some(level) = closeness(form, name) {
                    levels[level].insert((party.module, form));
                }
            }
        }
        let best = levels.into_iter().find(|level| !level.is_empty());
        best.ok_or_else(|| NameError::Unknown { given: given.to_owned(), hint: self.hint(name) })
    }

    /// The nearest names where no test has the given one.
    fn hint(&self, given: &str) -> String {
        let wanted = given.rsplit(['.', '#', '$']).next().unwrap_or(given).to_lowercase();
        let is_near = |id: &str| id.to_lowercase().contains(&wanted);
        let numbers = 0..self.parties.len() as Party;
        let near: BTreeSet<String> =
            numbers.filter(|&party| is_near(self.id(party))).map(|party| self.full_label(party)).collect();
        let near: Vec<String> = near.into_iter().take(3).collect();
        if near.is_empty() {
            return "'untether deps --format json' lists all tests".to_owned();
        }
        format!("did you mean {}?", near.join(" or "))
    }
}

/// What a test can be called by: itself, its method with all invocations, its class.
fn forms(id: &str) -> [&str; 3] {
    [id, method_of(id), class_of(id)]
}

/// Whether the name ends in what is given, from the start of a name on.
fn ends_with(name: &str, given: &str) -> bool {
    let class = class_of(name);
    // What stands in front of the method is part of a class's name; display names of invocations may hold anything.
    name.strip_suffix(given).is_some_and(|rest| rest.ends_with(['.', '$']) && rest.len() <= class.len())
}

/// How well the name fits: 0 best.
fn closeness(name: &str, given: &str) -> Option<usize> {
    if name == given {
        return Some(0);
    }
    if ends_with(name, given) {
        return Some(1);
    }
    let is_method = name.split_once('#').is_some_and(|(_, method)| method == given);
    is_method.then_some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_in_full_or_in_part() {
        let id = "a.b.CTest#m[2]";
        for given in ["a.b.CTest#m[2]", "CTest#m[2]", "b.CTest#m", "a.b.CTest", "CTest"] {
            assert!(is_named(id, given), "{given}");
        }
        for given in ["Test", "CTest#", "CTest#m[1]", "a.b", "m", "a.b.CTest#m2"] {
            assert!(!is_named(id, given), "{given}");
        }
        assert!(is_named("a.Outer$Inner#m", "Inner#m"));
        assert!(!is_named("a.CTest#m[x.y]", "y]"));
    }

    #[test]
    fn a_method_alone_fits_least() {
        assert_eq!(closeness("a.CTest#m", "a.CTest#m"), Some(0));
        assert_eq!(closeness("a.CTest#m", "CTest#m"), Some(1));
        assert_eq!(closeness("a.CTest#m", "m"), Some(2));
        assert_eq!(closeness("a.CTest#mm", "m"), None);
    }
}
