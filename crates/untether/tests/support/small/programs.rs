//! Small programs by chance, and edits of them. What they compute depends on constants, calls of all kinds, supertypes, default
//! methods, initializers, reflection, annotations, absent classes and line numbers. Whoever is called stands behind the
//! caller, so that each comes to an end.

use std::fmt::Write as _;

/// A generator of numbers that is the same everywhere.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

const ITEMS: usize = 8;
const TESTS: usize = 4;
const EXTRAS: usize = 2;
/// Instance methods `m0` to `m2`, of which each calls later ones of the same object only.
const METHODS: usize = 3;
const STATICS: usize = 2;

/// What is added up. Numbers are those of types, methods and static methods.
#[derive(Debug, Clone, PartialEq)]
enum Term {
    Literal(usize),
    Static(usize, usize),
    Virtual(usize, usize),
    This(usize),
    Super(usize),
    Constant(usize),
    Field(usize),
    Methods(usize),
    Fields(usize),
    Supertypes(usize),
    ByName(usize, usize),
    Handle(usize, usize),
    Exists(usize),
    Mark(usize),
    Line,
    InstanceOf(usize, usize),
    Lambda(usize, usize),
    Reference(usize, usize),
    Pool(usize, usize),
    Thread(usize, usize),
    ArrayOf(usize),
    /// What an earlier test left.
    Get(usize),
    Put(usize, usize),
    Memo(usize),
}

type Body = Vec<Term>;

#[derive(Debug, Clone, PartialEq)]
struct Item {
    is_interface: bool,
    extends: Option<usize>,
    implements: Option<usize>,
    constant: usize,
    mark: Option<usize>,
    methods: [Option<Body>; METHODS],
    statics: [Body; STATICS],
    field: Body,
    has_extra_field: bool,
    padding: usize,
    is_reversed: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Test {
    extends: Option<usize>,
    field: Body,
    methods: Vec<Body>,
    padding: usize,
}

/// Types that call each other, and test classes that write down what they come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    name: String,
    items: Vec<Item>,
    tests: Vec<Test>,
    extras: [bool; EXTRAS],
    /// Whether tests leave values for later ones. Edits of such a program change values only: who reads whose is what a
    /// detection has seen.
    has_state: bool,
}

/// Where a body stands, and what it may use.
#[derive(Clone, Copy)]
struct Place {
    /// Types from this one on.
    from: usize,
    /// The number of the instance method that it is.
    method: Option<usize>,
    is_test: bool,
}

impl Program {
    pub fn new(name: String, has_state: bool, chance: &mut Chance) -> Self {
        let interfaces: Vec<bool> = (0..ITEMS).map(|number| number + 1 < ITEMS && chance.one_in(4)).collect();
        let mut program = Program { name, items: Vec::new(), tests: Vec::new(), extras: [false; EXTRAS], has_state };
        let blank = |is_interface: bool| Item {
            is_interface,
            extends: None,
            implements: None,
            constant: 0,
            mark: None,
            methods: Default::default(),
            statics: Default::default(),
            field: Vec::new(),
            has_extra_field: false,
            padding: 0,
            is_reversed: false,
        };
        program.items = interfaces.into_iter().map(blank).collect();
        for number in 0..ITEMS {
            let supertypes = (program.super_type(number, false, chance), program.super_type(number, true, chance));
            let methods = [0, 1, 2].map(|method| chance.one_in(2).then(|| program.method(number, method, chance)));
            let place = Place { from: number + 1, method: None, is_test: false };
            let statics = [0, 1].map(|_| program.body(place, chance));
            let field = program.body(place, chance);
            let item = &mut program.items[number];
            (item.extends, item.implements) = supertypes;
            (item.methods, item.statics, item.field) = (methods, statics, field);
            item.constant = chance.below(100);
            item.mark = chance.one_in(2).then(|| chance.below(100));
        }
        for _ in 0..TESTS {
            let methods = (0..=chance.below(2)).map(|_| program.body(TEST, chance)).collect();
            let field = if chance.one_in(4) { program.body(TEST, chance) } else { Vec::new() };
            let extends = if chance.one_in(4) { Some(program.class_from(0, chance)) } else { None };
            program.tests.push(Test { extends, field, methods, padding: 0 });
        }
        program.normalise(chance);
        program
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn class_from(&self, from: usize, chance: &mut Chance) -> usize {
        let classes: Vec<usize> = (from..ITEMS).filter(|&number| !self.items[number].is_interface).collect();
        // The last is always a class.
        classes[chance.below(classes.len())]
    }

    fn super_type(&self, number: usize, is_interface: bool, chance: &mut Chance) -> Option<usize> {
        let is_fit = |other: &usize| self.items[*other].is_interface == is_interface;
        let fit: Vec<usize> = (number + 1..ITEMS).filter(is_fit).collect();
        let is_wanted = (!self.items[number].is_interface || is_interface) && !fit.is_empty() && !chance.one_in(3);
        is_wanted.then(|| fit[chance.below(fit.len())])
    }

    fn method(&self, number: usize, method: usize, chance: &mut Chance) -> Body {
        self.body(Place { from: number + 1, method: Some(method), is_test: false }, chance)
    }

    fn body(&self, place: Place, chance: &mut Chance) -> Body {
        let mut body = vec![Term::Literal(chance.below(1000))];
        let calls = if place.is_test { 1 + chance.below(3) } else { chance.below(3) };
        for _ in 0..calls {
            body.push(self.term(place, chance));
        }
        body
    }

    fn term(&self, place: Place, chance: &mut Chance) -> Term {
        let Place { from, method, is_test } = place;
        if let Some(method) = method
            && chance.one_in(3)
        {
            return match chance.below(3) {
                0 => Term::Super(method),
                _ if method + 1 < METHODS => Term::This(method + 1 + chance.below(METHODS - method - 1)),
                _ => Term::Line,
            };
        }
        if from >= ITEMS {
            return Term::Exists(chance.below(EXTRAS));
        }
        let any = from + chance.below(ITEMS - from);
        let (class, fixed) = (self.class_from(from, chance), chance.below(STATICS));
        if self.has_state && chance.one_in(if is_test { 2 } else { 6 }) {
            return match chance.below(3) {
                0 if is_test => Term::Put(class, any),
                1 => Term::Memo(class),
                _ if is_test => Term::Get(class),
                _ => Term::Memo(class),
            };
        }
        match chance.below(20) {
            0..=2 => Term::Static(any, fixed),
            3..=5 => Term::Virtual(class, chance.below(METHODS)),
            6 => Term::Constant(any),
            7 => Term::Field(any),
            8 => Term::Methods(any),
            9 => Term::Fields(any),
            10 => Term::Supertypes(any),
            11 => Term::ByName(any, fixed),
            12 => Term::Handle(any, fixed),
            13 => Term::Exists(chance.below(EXTRAS)),
            14 => Term::Mark(any),
            15 => Term::InstanceOf(class, any),
            16 => Term::Lambda(any, fixed),
            17 => {
                if chance.one_in(2) {
                    Term::Reference(any, fixed)
                } else {
                    Term::ArrayOf(any)
                }
            }
            18 => {
                if chance.one_in(2) {
                    Term::Pool(any, fixed)
                } else {
                    Term::Thread(any, fixed)
                }
            }
            _ => Term::Line,
        }
    }

    // ---- what makes it compile

    fn supers(&self, number: usize) -> Vec<usize> {
        let mut chain = vec![number];
        while let Some(above) = self.items[*chain.last().unwrap()].extends {
            chain.push(above);
        }
        chain
    }

    /// Interfaces with a default for the method that a type has.
    fn defaults(&self, number: usize, method: usize) -> usize {
        let mut interfaces: Vec<usize> = self.supers(number);
        let mut at = 0;
        while at < interfaces.len() {
            let above = self.items[interfaces[at]].implements;
            interfaces.extend(above.filter(|above| !interfaces.contains(above)));
            at += 1;
        }
        let has = |other: &&usize| self.items[**other].is_interface && self.items[**other].methods[method].is_some();
        interfaces.iter().filter(has).count()
    }

    /// Every class has each method once.
    fn normalise(&mut self, chance: &mut Chance) {
        for number in (0..ITEMS).rev().filter(|&number| !self.items[number].is_interface).collect::<Vec<_>>() {
            for method in 0..METHODS {
                let is_declared = self.supers(number).iter().any(|&above| self.items[above].methods[method].is_some());
                if !is_declared && self.defaults(number, method) != 1 {
                    self.items[number].methods[method] = Some(self.method(number, method, chance));
                }
            }
        }
    }

    // ---- edits

    pub fn edit(&mut self, chance: &mut Chance) {
        let number = chance.below(ITEMS);
        let place = Place { from: number + 1, method: None, is_test: false };
        // Values and what nobody can tell, or anything.
        match chance.below(if self.has_state { 4 } else { 16 }) {
            0 | 1 => self.change_literal(chance),
            2 => self.items[number].constant = chance.below(1000),
            3 => {
                self.items[number].padding = chance.below(4);
                self.items[number].is_reversed = chance.one_in(2);
                self.tests[chance.below(TESTS)].padding = chance.below(4);
            }
            4..=6 => {
                let method = chance.below(METHODS);
                let body = self.items[number].methods[method].is_none().then(|| self.method(number, method, chance));
                self.items[number].methods[method] = body;
            }
            7 => self.items[number].extends = self.super_type(number, false, chance),
            8 => self.items[number].implements = self.super_type(number, true, chance),
            9 | 10 => {
                let extra = &mut self.extras[chance.below(EXTRAS)];
                *extra = !*extra;
            }
            11 => self.items[number].statics[chance.below(STATICS)] = self.body(place, chance),
            12 => self.items[number].field = self.body(place, chance),
            13 => self.items[number].mark = chance.one_in(3).then(|| chance.below(100)),
            14 => self.items[number].has_extra_field = !self.items[number].has_extra_field,
            _ => {
                let test = chance.below(TESTS);
                let method = chance.below(self.tests[test].methods.len());
                self.tests[test].methods[method] = self.body(TEST, chance);
            }
        }
        self.normalise(chance);
    }

    fn change_literal(&mut self, chance: &mut Chance) {
        let items = self.items.iter_mut().flat_map(|item| {
            item.methods.iter_mut().flatten().chain(&mut item.statics).chain(std::iter::once(&mut item.field))
        });
        let mut bodies: Vec<&mut Body> = items.collect();
        let chosen = chance.below(bodies.len());
        bodies[chosen][0] = Term::Literal(chance.below(1000));
    }

    // ---- as Java

    fn type_name(&self, number: usize) -> String {
        format!("{}{number}", if self.items[number].is_interface { "I" } else { "C" })
    }

    fn expression(&self, body: &Body, owner: Option<usize>) -> String {
        let mut text = "0".to_owned();
        for term in body {
            text = format!("31 * ({text})\n            + {}", self.text(term, owner));
        }
        text
    }

    fn text(&self, term: &Term, owner: Option<usize>) -> String {
        let name = |number: &usize| self.type_name(*number);
        let qualified = |number: &usize| format!("{}.{}", self.name, self.type_name(*number));
        match term {
            Term::Literal(value) => value.to_string(),
            Term::Static(at, method) => format!("{}.s{method}()", name(at)),
            Term::Virtual(at, method) => format!("new {}().m{method}()", name(at)),
            Term::This(method) => match owner {
                Some(owner) if self.items[owner].is_interface && self.defaults(owner, *method) == 0 => "5".to_owned(),
                _ => format!("this.m{method}()"),
            },
            Term::Super(method) => match owner.and_then(|owner| self.items[owner].extends) {
                Some(_) => format!("super.m{method}()"),
                None => "7".to_owned(),
            },
            Term::Constant(at) => format!("{}.K", name(at)),
            Term::Field(at) => format!("{}.f", name(at)),
            Term::Methods(at) => format!("help.Help.methods({}.class)", name(at)),
            Term::Fields(at) => format!("help.Help.fields({}.class)", name(at)),
            Term::Supertypes(at) => format!("help.Help.supertypes({}.class)", name(at)),
            Term::ByName(at, method) => format!("help.Help.byName(\"{}\", \"s{method}\")", qualified(at)),
            Term::Handle(at, method) => format!("help.Help.handle({}.class, \"s{method}\")", name(at)),
            Term::Exists(extra) => format!("help.Help.exists(\"{}.Extra{extra}\")", self.name),
            Term::Mark(at) => format!("help.Help.mark({}.class)", name(at)),
            Term::Line => "help.Help.line()".to_owned(),
            Term::InstanceOf(at, other) => {
                format!("(((Object) new {}()) instanceof {} ? 1 : 2)", name(at), name(other))
            }
            Term::Lambda(at, method) => format!("help.Help.call(() -> {}.s{method}())", name(at)),
            Term::Reference(at, method) => format!("help.Help.call({}::s{method})", name(at)),
            // A lambda belongs to the class around it, for whose initializer the other thread would wait.
            Term::Pool(at, method) => format!("help.Help.inPool({}::s{method})", name(at)),
            Term::Thread(at, method) => format!("help.Help.inThread({}::s{method})", name(at)),
            Term::ArrayOf(at) => format!("help.Help.methods(new {}[0].getClass().getComponentType())", name(at)),
            Term::Get(at) => format!("{}.state", name(at)),
            Term::Put(at, other) => format!("({}.state = {}.s0())", name(at), name(other)),
            Term::Memo(at) => format!("{}.memo()", name(at)),
        }
    }

    /// Paths of source files below the package's folder, and their text.
    pub fn sources(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for number in 0..ITEMS {
            files.push((format!("{}/{}.java", self.name, self.type_name(number)), self.source_of(number)));
        }
        for (number, test) in self.tests.iter().enumerate() {
            files.push((format!("{}/T{number}Test.java", self.name), self.test_source(number, test)));
        }
        for extra in (0..EXTRAS).filter(|&extra| self.extras[extra]) {
            let text = format!("package {};\npublic class Extra{extra} {{}}\n", self.name);
            files.push((format!("{}/Extra{extra}.java", self.name), text));
        }
        files
    }

    fn source_of(&self, number: usize) -> String {
        let item = &self.items[number];
        let mut text = format!("package {};\n{}", self.name, "// a line\n".repeat(item.padding));
        if let Some(mark) = item.mark {
            writeln!(text, "@help.Mark({mark})").unwrap();
        }
        let kind = if item.is_interface { "interface" } else { "class" };
        write!(text, "public {kind} {}", self.type_name(number)).unwrap();
        if let Some(above) = item.extends {
            write!(text, " extends {}", self.type_name(above)).unwrap();
        }
        if let Some(above) = item.implements {
            let word = if item.is_interface { "extends" } else { "implements" };
            write!(text, " {word} {}", self.type_name(above)).unwrap();
        }
        text.push_str(" {\n");
        let mut members = vec![
            format!("    public static final int K = {};\n", item.constant),
            format!("    public static final int f = {};\n", self.expression(&item.field, Some(number))),
        ];
        for (method, body) in item.statics.iter().enumerate() {
            let body = self.expression(body, Some(number));
            members.push(format!("    public static int s{method}() {{\n        return {body};\n    }}\n"));
        }
        let default = if item.is_interface { "default " } else { "" };
        for (method, body) in item.methods.iter().enumerate() {
            let Some(body) = body else { continue };
            let body = self.expression(body, Some(number));
            members.push(format!("    public {default}int m{method}() {{\n        return {body};\n    }}\n"));
        }
        if item.has_extra_field {
            members.push("    public static final Object EXTRA = null;\n".to_owned());
        }
        if !item.is_interface && self.has_state {
            members.push("    public static int state;\n    private static int memo;\n".to_owned());
            members.push(
                "    public static int memo() {\n        return memo == 0 ? memo = s0() : memo;\n    }\n".to_owned(),
            );
        }
        if item.is_reversed {
            members.reverse();
        }
        text.push_str(&members.concat());
        text.push_str("}\n");
        text
    }

    fn test_source(&self, number: usize, test: &Test) -> String {
        let mut text = format!("package {};\n{}", self.name, "\n".repeat(test.padding));
        let extends = test.extends.map(|above| format!(" extends {}", self.type_name(above))).unwrap_or_default();
        writeln!(text, "class T{number}Test{extends} {{").unwrap();
        writeln!(text, "    static final int OWN = {};", self.expression(&test.field, None)).unwrap();
        for (method, body) in test.methods.iter().enumerate() {
            let mine = if test.extends.is_some() { "this.m0()" } else { "1" };
            writeln!(
                text,
                "    @org.junit.jupiter.api.Test void t{method}() {{\n        help.Help.outcome(getClass(), {method}, OWN + {mine}\n            + 31 * ({}));\n    }}",
                self.expression(body, None)
            )
            .unwrap();
        }
        text.push_str("}\n");
        text
    }
}

const TEST: Place = Place { from: 0, method: None, is_test: true };

/// What all programs use.
pub const HELP: &[(&str, &str)] = &[
    (
        "help/Mark.java",
        "package help;
         import java.lang.annotation.*;
         @Retention(RetentionPolicy.RUNTIME)
         public @interface Mark { int value(); }",
    ),
    (
        "help/Help.java",
        r#"package help;
         import java.lang.invoke.*;
         import java.nio.file.*;
         import java.util.*;
         import java.util.concurrent.*;
         import java.util.function.*;
         public class Help {
             public static void outcome(Class<?> test, int method, int value) {
                 byte[] line = (test.getName() + " " + method + "=" + value + "\n").getBytes();
                 try {
                     Files.write(Path.of("outcomes"), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                 } catch (java.io.IOException error) {
                     throw new IllegalStateException(error);
                 }
             }
             private static int hash(List<String> names) {
                 Collections.sort(names);
                 return names.hashCode();
             }
             public static int methods(Class<?> type) {
                 List<String> names = new ArrayList<>();
                 for (var method : type.getDeclaredMethods()) if (!method.isSynthetic()) names.add(method.toString());
                 return hash(names);
             }
             public static int fields(Class<?> type) {
                 List<String> names = new ArrayList<>();
                 for (var field : type.getFields()) names.add(field.toString());
                 return hash(names);
             }
             public static int supertypes(Class<?> type) {
                 List<String> names = new ArrayList<>();
                 for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                     names.add(at.getName());
                     for (Class<?> each : at.getInterfaces()) names.add(each.getName());
                 }
                 return hash(names);
             }
             public static int byName(String type, String method) {
                 try {
                     return (Integer) Class.forName(type).getMethod(method).invoke(null);
                 } catch (ReflectiveOperationException error) {
                     throw new IllegalStateException(error);
                 }
             }
             public static int handle(Class<?> type, String method) {
                 try {
                     MethodType none = MethodType.methodType(int.class);
                     return (int) MethodHandles.lookup().findStatic(type, method, none).invoke();
                 } catch (Throwable error) {
                     throw new IllegalStateException(error);
                 }
             }
             public static int exists(String type) {
                 try {
                     return Class.forName(type).getName().length();
                 } catch (ClassNotFoundException absent) {
                     return 0;
                 }
             }
             public static int mark(Class<?> type) {
                 Mark mark = type.getAnnotation(Mark.class);
                 return mark == null ? 0 : mark.value();
             }
             public static int line() {
                 return new Throwable().getStackTrace()[1].getLineNumber();
             }
             public static int call(IntSupplier call) {
                 return call.getAsInt();
             }
             public static int inPool(Supplier<Integer> call) {
                 return CompletableFuture.supplyAsync(call).join();
             }
             public static int inThread(IntSupplier call) {
                 int[] found = new int[1];
                 Thread thread = new Thread(() -> found[0] = call.getAsInt());
                 thread.start();
                 try {
                     thread.join();
                 } catch (InterruptedException error) {
                     throw new IllegalStateException(error);
                 }
                 return found[0];
             }
         }"#,
    ),
];
