//! Which classes are used: a byte of a table is set at the start of each method and before what reaches into another class
//! without running a method of it. In the JDK, only the places that hand out classes are woven.

use untether_classfile::{Entry, Instruction, Result, opcode};

use crate::pass::{Family, Method, Pass};
use crate::probe::{self, Probe};
use crate::values::NOBODY;

/// What is told at one of the JDK's methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// At its start: something is asked of the class that is its first argument.
    Asked,
    /// What it returns is the class that was sought, or null.
    Sought,
    /// At its start: a resource is asked for by the name that is its first argument.
    Resource,
    /// At its start: somebody looks at lines, or at names of local variables.
    Lines,
    /// At its start: somebody asks this table for what its first argument names.
    Named(Table),
    /// The same, for everything in it.
    All(Table),
}

/// A table of values from outside, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Properties,
    Environment,
}

struct GatedMethod {
    class: &'static [u8],
    method: &'static [u8],
    descriptor: &'static [u8],
    gate: Gate,
}

const fn gated(class: &'static [u8], method: &'static [u8], descriptor: &'static [u8], gate: Gate) -> GatedMethod {
    GatedMethod { class, method, descriptor, gate }
}

const CLASS: &[u8] = b"java/lang/Class";
const LOADER: &[u8] = b"jdk/internal/loader/BuiltinClassLoader";
const STREAM_CLASS: &[u8] = b"java/io/ObjectStreamClass";
const COMPUTE_ABSENT: &[u8] = b"(Ljava/lang/Object;Ljava/util/function/Function;)Ljava/lang/Object;";
const COMPUTE: &[u8] = b"(Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;";
const MERGE: &[u8] = b"(Ljava/lang/Object;Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;";
const LOAD_CLASS: &[u8] = b"(Ljava/lang/String;)Ljava/lang/Class;";
const LINE: &[u8] = b"java/lang/StackTraceElement";
/// Its message names the variable that was null.
const NULL_POINTER: &[u8] = b"java/lang/NullPointerException";
const PROPERTIES: &[u8] = b"java/util/Properties";
const ENVIRONMENT: &[u8] = b"java/lang/ProcessEnvironment$StringEnvironment";
const OF_PROPERTIES: Gate = Gate::Named(Table::Properties);
const ALL_PROPERTIES: Gate = Gate::All(Table::Properties);
const OF_ENVIRONMENT: Gate = Gate::Named(Table::Environment);
const ALL_ENVIRONMENT: Gate = Gate::All(Table::Environment);

/// The classes of the JDK that have gates, whether loaded already or not.
pub const GATED: [&[u8]; 7] = [CLASS, LOADER, STREAM_CLASS, LINE, NULL_POINTER, PROPERTIES, ENVIRONMENT];

/// JDKs differ in which of these they have.
const GATES: &[GatedMethod] = &[
    gated(CLASS, b"forName", b"(Ljava/lang/String;)Ljava/lang/Class;", Gate::Sought),
    gated(CLASS, b"forName", b"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;", Gate::Sought),
    gated(CLASS, b"reflectionData", b"()Ljava/lang/Class$ReflectionData;", Gate::Asked),
    gated(CLASS, b"annotationData", b"()Ljava/lang/Class$AnnotationData;", Gate::Asked),
    gated(CLASS, b"getGenericInfo", b"()Lsun/reflect/generics/repository/ClassRepository;", Gate::Asked),
    gated(CLASS, b"getRecordComponents", b"()[Ljava/lang/reflect/RecordComponent;", Gate::Asked),
    gated(CLASS, b"getPermittedSubclasses", b"()[Ljava/lang/Class;", Gate::Asked),
    gated(CLASS, b"getNestMembers", b"()[Ljava/lang/Class;", Gate::Asked),
    gated(CLASS, b"getDeclaredClasses", b"()[Ljava/lang/Class;", Gate::Asked),
    gated(LOADER, b"loadClassOrNull", b"(Ljava/lang/String;Z)Ljava/lang/Class;", Gate::Sought),
    gated(LOADER, b"findResource", b"(Ljava/lang/String;)Ljava/net/URL;", Gate::Resource),
    gated(LOADER, b"findResource", b"(Ljava/lang/String;Ljava/lang/String;)Ljava/net/URL;", Gate::Resource),
    gated(
        LOADER,
        b"findResourceAsStream",
        b"(Ljava/lang/String;Ljava/lang/String;)Ljava/io/InputStream;",
        Gate::Resource,
    ),
    gated(LOADER, b"findResources", b"(Ljava/lang/String;)Ljava/util/Enumeration;", Gate::Resource),
    gated(STREAM_CLASS, b"lookup", b"(Ljava/lang/Class;Z)Ljava/io/ObjectStreamClass;", Gate::Asked),
    gated(LINE, b"getLineNumber", b"()I", Gate::Lines),
    gated(LINE, b"toString", b"()Ljava/lang/String;", Gate::Lines),
    gated(NULL_POINTER, b"getMessage", b"()Ljava/lang/String;", Gate::Lines),
    gated(PROPERTIES, b"getProperty", b"(Ljava/lang/String;)Ljava/lang/String;", OF_PROPERTIES),
    gated(PROPERTIES, b"get", b"(Ljava/lang/Object;)Ljava/lang/Object;", OF_PROPERTIES),
    gated(PROPERTIES, b"getOrDefault", b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;", OF_PROPERTIES),
    gated(PROPERTIES, b"containsKey", b"(Ljava/lang/Object;)Z", OF_PROPERTIES),
    gated(PROPERTIES, b"put", b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;", OF_PROPERTIES),
    gated(PROPERTIES, b"putIfAbsent", b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;", OF_PROPERTIES),
    gated(PROPERTIES, b"remove", b"(Ljava/lang/Object;)Ljava/lang/Object;", OF_PROPERTIES),
    gated(PROPERTIES, b"computeIfAbsent", COMPUTE_ABSENT, OF_PROPERTIES),
    gated(PROPERTIES, b"computeIfPresent", COMPUTE, OF_PROPERTIES),
    gated(PROPERTIES, b"compute", COMPUTE, OF_PROPERTIES),
    gated(PROPERTIES, b"merge", MERGE, OF_PROPERTIES),
    gated(PROPERTIES, b"size", b"()I", ALL_PROPERTIES),
    gated(PROPERTIES, b"isEmpty", b"()Z", ALL_PROPERTIES),
    gated(PROPERTIES, b"contains", b"(Ljava/lang/Object;)Z", ALL_PROPERTIES),
    gated(PROPERTIES, b"containsValue", b"(Ljava/lang/Object;)Z", ALL_PROPERTIES),
    gated(PROPERTIES, b"toString", b"()Ljava/lang/String;", ALL_PROPERTIES),
    gated(PROPERTIES, b"equals", b"(Ljava/lang/Object;)Z", ALL_PROPERTIES),
    gated(PROPERTIES, b"hashCode", b"()I", ALL_PROPERTIES),
    gated(PROPERTIES, b"entrySet", b"()Ljava/util/Set;", ALL_PROPERTIES),
    gated(PROPERTIES, b"keySet", b"()Ljava/util/Set;", ALL_PROPERTIES),
    gated(PROPERTIES, b"values", b"()Ljava/util/Collection;", ALL_PROPERTIES),
    gated(PROPERTIES, b"keys", b"()Ljava/util/Enumeration;", ALL_PROPERTIES),
    gated(PROPERTIES, b"elements", b"()Ljava/util/Enumeration;", ALL_PROPERTIES),
    gated(PROPERTIES, b"propertyNames", b"()Ljava/util/Enumeration;", ALL_PROPERTIES),
    gated(PROPERTIES, b"stringPropertyNames", b"()Ljava/util/Set;", ALL_PROPERTIES),
    gated(PROPERTIES, b"forEach", b"(Ljava/util/function/BiConsumer;)V", ALL_PROPERTIES),
    gated(PROPERTIES, b"clone", b"()Ljava/lang/Object;", ALL_PROPERTIES),
    gated(ENVIRONMENT, b"get", b"(Ljava/lang/Object;)Ljava/lang/String;", OF_ENVIRONMENT),
    gated(ENVIRONMENT, b"containsKey", b"(Ljava/lang/Object;)Z", OF_ENVIRONMENT),
    gated(ENVIRONMENT, b"size", b"()I", ALL_ENVIRONMENT),
    gated(ENVIRONMENT, b"isEmpty", b"()Z", ALL_ENVIRONMENT),
    gated(ENVIRONMENT, b"containsValue", b"(Ljava/lang/Object;)Z", ALL_ENVIRONMENT),
    gated(ENVIRONMENT, b"entrySet", b"()Ljava/util/Set;", ALL_ENVIRONMENT),
    gated(ENVIRONMENT, b"keySet", b"()Ljava/util/Set;", ALL_ENVIRONMENT),
    gated(ENVIRONMENT, b"values", b"()Ljava/util/Collection;", ALL_ENVIRONMENT),
];

/// Whether the name, in internal form, is one that only the JDK can define.
pub fn is_jdk_name(name: &[u8]) -> bool {
    [b"java/".as_slice(), b"jdk/internal/", b"sun/"].iter().any(|prefix| name.starts_with(prefix))
}

/// How a class is woven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    /// Whoever uses it is noted.
    Fully,
    /// One of the JDK's.
    AtGates,
}

/// The probes of one method.
pub(crate) enum Uses {
    Marking { own: u32 },
    Gated(Gate),
}

impl Uses {
    /// None where nothing is to be told of the class.
    pub(crate) fn kind(class: &[u8]) -> Option<Watched> {
        if GATED.contains(&class) { Some(Watched::AtGates) } else { (!is_jdk_name(class)).then_some(Watched::Fully) }
    }

    pub(crate) fn of(watched: Watched, method: &Method<'_>) -> Option<Self> {
        if watched == Watched::Fully {
            return Some(Uses::Marking { own: 0 });
        }
        let is_this = |gate: &&GatedMethod| {
            (gate.class, gate.method, gate.descriptor) == (method.class_name, method.name, method.descriptor)
        };
        GATES.iter().find(is_this).map(|gate| Uses::Gated(gate.gate))
    }
}

impl Family for Uses {
    fn enter(&mut self, pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        match self {
            Uses::Marking { own } => {
                *own = pass.numbering.class(pass.method.class_name);
                let number = *own;
                if number == 0 {
                    return Ok(());
                }
                let mark = mark(pass, number)?;
                pass.always_before(0, mark, 3);
                if pass.method.is_initializer() {
                    let enter = pass.numbered_call(number, probe::USES_ENTER)?;
                    pass.always_before(0, enter, 1);
                    let mut handler = pass.numbered_call(number, probe::USES_EXIT)?;
                    handler.push(opcode::ATHROW);
                    pass.editor.need_stack(2);
                    pass.editor.catch_all(&handler);
                }
                Ok(())
            }
            Uses::Gated(Gate::Asked) => {
                let mut bytes = vec![opcode::ALOAD_0];
                bytes.extend(call(pass, probe::CLASS_ASKED)?);
                pass.always_before(0, bytes, 1);
                Ok(())
            }
            Uses::Gated(Gate::Resource) => {
                // The other form has the name of a module before it.
                let is_of_module = pass.method.descriptor.starts_with(b"(Ljava/lang/String;Ljava/lang/String;");
                let mut bytes = vec![opcode::ALOAD_0 + if is_of_module { 2 } else { 1 }];
                bytes.extend(call(pass, probe::RESOURCE_ASKED)?);
                pass.always_before(0, bytes, 1);
                Ok(())
            }
            Uses::Gated(Gate::Lines) => {
                let bytes = call(pass, probe::LINES_SEEN)?;
                pass.always_before(0, bytes.to_vec(), 0);
                Ok(())
            }
            Uses::Gated(Gate::Named(table)) => ask(pass, *table, opcode::ALOAD_0 + 1),
            Uses::Gated(Gate::All(table)) => ask(pass, *table, ACONST_NULL),
            Uses::Gated(Gate::Sought) => Ok(()),
        }
    }

    fn visit(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        instruction: &Instruction<'_>,
        entry: Option<Entry<'_>>,
    ) -> Result<()> {
        match self {
            Uses::Marking { own } => {
                let own = *own;
                if instruction.is_return() && pass.method.is_initializer() && own != 0 {
                    let exit = pass.numbered_call(own, probe::USES_EXIT)?;
                    pass.always_before(instruction.pc, exit, 1);
                }
                match (instruction.opcode, entry) {
                    // A static method may be inherited, and then none of the class that it is called on need run.
                    (opcode::GETSTATIC..=opcode::PUTFIELD | opcode::INVOKESTATIC, Some(Entry::Ref { owner, .. })) => {
                        mark_other(pass, instruction.pc, owner)
                    }
                    // Somebody's own loader, or one of the JDK's.
                    (
                        opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE,
                        Some(Entry::Ref { name: b"loadClass", descriptor: LOAD_CLASS, .. }),
                    ) => {
                        let mut bytes = vec![opcode::DUP];
                        bytes.extend(call(pass, probe::CLASS_ASKED)?);
                        pass.always_after(instruction.pc, bytes, 2);
                        Ok(())
                    }
                    (opcode::LDC | opcode::LDC_W, _) => match pass.class.pool.entry(instruction.constant())? {
                        Entry::Class(name) => mark_other(pass, instruction.pc, element(name)),
                        _ => Ok(()),
                    },
                    _ => Ok(()),
                }
            }
            Uses::Gated(Gate::Sought) if instruction.opcode == opcode::ARETURN => {
                let mut bytes = vec![opcode::DUP];
                // A static method has no loader to tell of.
                bytes.extend(if pass.method.is_static {
                    [ACONST_NULL, ACONST_NULL]
                } else {
                    [opcode::ALOAD_0, opcode::ALOAD_0 + 1]
                });
                bytes.extend(call(pass, probe::CLASS_SOUGHT)?);
                pass.always_before(instruction.pc, bytes, 3);
                Ok(())
            }
            Uses::Gated(_) => Ok(()),
        }
    }
}

/// Of an array type the class of its elements; empty where that is a primitive type.
fn element(name: &[u8]) -> &[u8] {
    let dimensions = name.iter().take_while(|&&byte| byte == b'[').count();
    match (dimensions, &name[dimensions..]) {
        (0, class) => class,
        (_, [b'L', class @ .., b';']) => class,
        _ => &[],
    }
}

/// Tells classes from fields among what probes are about.
const NO_FIELD: u32 = 1 << 31;

/// Before an instruction that reaches into another class, where none of its methods need run.
fn mark_other(pass: &mut Pass<'_, '_, '_, '_>, pc: u32, owner: &[u8]) -> Result<()> {
    if owner.is_empty() || owner == pass.method.class_name || is_jdk_name(owner) {
        return Ok(());
    }
    let number = pass.numbering.class(owner);
    if number == 0 {
        return Ok(());
    }
    let bytes = mark(pass, number)?;
    pass.probe(pc, NOBODY, number | NO_FIELD, true, bytes, 3);
    Ok(())
}

/// `UntetherUses.USED[number] = 1`, which is one store to a known address once it is compiled.
fn mark(pass: &mut Pass<'_, '_, '_, '_>, number: u32) -> Result<Vec<u8>> {
    const ICONST_1: u8 = opcode::ICONST_0 + 1;
    const BASTORE: u8 = 0x54;
    let [high, low] = pass.class.pool.add_field_ref(probe::USES, probe::USED.as_bytes(), b"[B")?.to_be_bytes();
    let mut bytes = vec![opcode::GETSTATIC, high, low];
    bytes.extend(pass.number(number)?);
    bytes.extend([ICONST_1, BASTORE]);
    Ok(bytes)
}

const ACONST_NULL: u8 = 1;

/// Tells that the table is asked for what one instruction loads.
fn ask(pass: &mut Pass<'_, '_, '_, '_>, table: Table, name: u8) -> Result<()> {
    let probe = match table {
        Table::Properties => probe::PROPERTY_ASKED,
        Table::Environment => probe::VARIABLE_ASKED,
    };
    let mut bytes = vec![opcode::ALOAD_0, name];
    bytes.extend(call(pass, probe)?);
    pass.always_before(0, bytes, 2);
    Ok(())
}

fn call(pass: &mut Pass<'_, '_, '_, '_>, probe: Probe) -> Result<[u8; 3]> {
    probe.call(&mut pass.class.pool)
}
