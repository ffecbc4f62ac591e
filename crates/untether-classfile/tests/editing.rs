//! Edits of real methods keep their meaning: whatever pointed to an instruction still does.
//!
//! Edits are runs of `nop`, so that the expected program is the original one with `nop`s in it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod program;
mod support;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use program::{Frame, Program, Step};
use proptest::prelude::*;
use proptest::sample::Index;
use support::{Class, codes, newest_jdk};
use untether_classfile::{ClassFile, Code, CodeEditor, ConstantPool, Error, ExceptionEntry};

/// Classes with every shape of code: loops, switches, constructors, lambdas, nested handlers.
const SAMPLE: &str = "java.base/java/util";

const ATHROW: u8 = 0xbf;
const LONGEST_CODE: usize = 65_535;

/// How many `nop`s go before and after an instruction, and how many take its place.
#[derive(Debug, Clone, Copy, Default)]
struct Nops {
    before: usize,
    instead: Option<usize>,
    after: usize,
}

/// The edits of one method, by position of the instruction.
type Edits = BTreeMap<usize, Nops>;

fn classes() -> &'static [Class] {
    static CLASSES: OnceLock<Vec<Class>> = OnceLock::new();
    CLASSES.get_or_init(|| newest_jdk().classes(SAMPLE))
}

/// Every method of the sample: its class, its name and the content of its code.
fn methods() -> &'static [(&'static Class, String, Vec<u8>)] {
    static METHODS: OnceLock<Vec<(&Class, String, Vec<u8>)>> = OnceLock::new();
    METHODS.get_or_init(|| {
        let of_class = |class: &'static Class| {
            let parsed = ClassFile::parse(&class.bytes).unwrap();
            codes(&parsed).map(|(name, content)| (class, name, content.to_vec())).collect::<Vec<_>>()
        };
        classes().iter().flat_map(of_class).collect()
    })
}

fn pcs(code: &Code<'_>) -> Vec<u32> {
    code.instructions().map(|instruction| instruction.unwrap().pc).collect()
}

fn apply(
    code: &Code<'_>,
    edits: &Edits,
    handler: Option<&[u8]>,
    pool: &mut ConstantPool<'_>,
) -> Result<Vec<u8>, Error> {
    let pcs = pcs(code);
    let mut editor = CodeEditor::new(code);
    for (&position, nops) in edits {
        let pc = pcs[position];
        editor.before(pc, &vec![Step::NOP; nops.before]);
        editor.after(pc, &vec![Step::NOP; nops.after]);
        if let Some(count) = nops.instead {
            editor.replace(pc, &vec![Step::NOP; count]);
        }
    }
    if let Some(handler) = handler {
        editor.catch_all(handler);
    }
    editor.apply(pool)
}

/// The original program with the `nop`s in it and everything that points into it moved along.
fn expected(original: &Program, edits: &Edits) -> Program {
    let mut steps = Vec::new();
    // Where a jump to an instruction lands, and where the instruction itself stands.
    let (mut landings, mut places) = (Vec::new(), Vec::new());
    for (position, step) in original.steps.iter().enumerate() {
        let nops = edits.get(&position).copied().unwrap_or_default();
        landings.push(steps.len());
        steps.extend(vec![Step::nop(); nops.before]);
        places.push(steps.len());
        match nops.instead {
            Some(count) => steps.extend(vec![Step::nop(); count]),
            None => steps.push(step.clone()),
        }
        steps.extend(vec![Step::nop(); nops.after]);
    }
    landings.push(steps.len());
    for step in &mut steps {
        step.targets.iter_mut().for_each(|target| *target = landings[*target]);
    }
    let moved_frame = |frame: &Frame| {
        let item = |&(tag, value): &(u8, usize)| if tag == 8 { (tag, places[value]) } else { (tag, value) };
        Frame {
            at: landings[frame.at],
            form: frame.form,
            locals: frame.locals.iter().map(item).collect(),
            stack: frame.stack.iter().map(item).collect(),
        }
    };
    let exceptions = original.exceptions.iter();
    Program {
        exceptions: exceptions.map(|&(s, e, h, kind)| (landings[s], landings[e], landings[h], kind)).collect(),
        lines: original.lines.iter().map(|&(at, line)| (landings[at], line)).collect(),
        variables: original.variables.iter().map(|(s, e, rest)| (landings[*s], landings[*e], rest.clone())).collect(),
        frames: original.frames.iter().map(moved_frame).collect(),
        others: original.others.clone(),
        steps,
    }
}

/// The refusal that a program asks for: it is too long, a jump in it is too far, or two frames are at one place because
/// there is nothing left between them.
fn refusal(program: &Program) -> Option<Error> {
    let positions = program.positions();
    if positions.last().is_some_and(|&length| length > LONGEST_CODE) {
        return Some(Error::CodeTooLarge);
    }
    let is_too_far = |(index, step): (usize, &Step)| {
        let distance = |&target: &usize| positions[target] as i64 - positions[index] as i64;
        step.has_short_jump() && step.targets.iter().any(|target| i16::try_from(distance(target)).is_err())
    };
    if program.steps.iter().enumerate().any(is_too_far) {
        return Some(Error::BranchTooFar);
    }
    let clash = program.frames.windows(2).find(|pair| pair[0].at == pair[1].at);
    clash.map(|pair| Error::BadTarget { pc: positions[pair[1].at] as i64 })
}

fn check(class: &Class, content: &[u8], edits: &Edits) -> Result<(), String> {
    let parsed = ClassFile::parse(&class.bytes).unwrap();
    let mut pool = parsed.pool.clone();
    let code = Code::parse(content).unwrap();
    let expected = expected(&Program::of(&code, &pool), edits);
    match (apply(&code, edits, None, &mut pool), refusal(&expected)) {
        (Err(found), Some(refusal)) if found == refusal => Ok(()),
        (Ok(edited), None) => {
            let edited = Code::parse(&edited).map_err(|error| error.to_string())?;
            let found = Program::of(&edited, &pool);
            let same_room = (edited.max_stack, edited.max_locals) == (code.max_stack, code.max_locals);
            if found == expected && same_room { Ok(()) } else { Err(difference(&found, &expected)) }
        }
        (found, refusal) => Err(format!("{:?}, and {refusal:?} was due", found.map(|bytes| bytes.len()))),
    }
}

fn difference(found: &Program, expected: &Program) -> String {
    let step = found.steps.iter().zip(&expected.steps).position(|(found, expected)| found != expected);
    format!(
        "first different instruction {step:?} of {} and {}; same exceptions {}, lines {}, variables {}, frames {}",
        found.steps.len(),
        expected.steps.len(),
        found.exceptions == expected.exceptions,
        found.lines == expected.lines,
        found.variables == expected.variables,
        found.frames == expected.frames,
    )
}

#[test]
fn a_nop_around_every_instruction_of_every_method_keeps_control_flow() {
    assert!(methods().len() > 5_000, "only {} methods in {SAMPLE}", methods().len());
    for (class, name, content) in methods() {
        let code = Code::parse(content).unwrap();
        for nops in [Nops { before: 1, ..Nops::default() }, Nops { before: 2, instead: None, after: 3 }] {
            let edits = (0..pcs(&code).len()).map(|position| (position, nops)).collect();
            check(class, content, &edits).unwrap_or_else(|complaint| panic!("{} {name}: {complaint}", class.name));
        }
    }
}

#[test]
fn a_final_handler_covers_the_code_and_leaves_the_rest_alone() {
    let nops = Nops { before: 1, ..Nops::default() };
    for (class, name, content) in methods() {
        let mut parsed = ClassFile::parse(&class.bytes).unwrap();
        let code = Code::parse(content).unwrap();
        let edits: Edits = (0..pcs(&code).len()).step_by(3).map(|position| (position, nops)).collect();
        let original = expected(&Program::of(&code, &parsed.pool), &edits);
        let edited = apply(&code, &edits, Some(&[Step::NOP, ATHROW]), &mut parsed.pool).unwrap();
        // Only the written class resolves the constants that were added.
        let written = parsed.to_bytes();
        let reread = ClassFile::parse(&written).unwrap();
        let edited = Code::parse(&edited).unwrap();
        let mut found = Program::of(&edited, &reread.pool);

        let end = original.steps.len();
        assert_eq!(found.exceptions.pop(), Some((0, end, end, 0)), "{} {name}", class.name);
        let frame = found.frames.pop().unwrap();
        assert_eq!((frame.at, frame.form, frame.locals.len()), (end, 255, 0), "{} {name}", class.name);
        let [(7, caught)] = frame.stack[..] else { panic!("{} {name}: {:?}", class.name, frame.stack) };
        assert_eq!(reread.pool.class_name(caught as u16), Ok(&b"java/lang/Throwable"[..]));
        let handler = found.steps.split_off(end);
        assert_eq!(handler, [Step::nop(), Step { bytes: vec![ATHROW], targets: Vec::new() }]);
        assert!(found == original, "{} {name}: {}", class.name, difference(&found, &original));
    }
}

fn counts() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 0..4usize, 5 => 50..300usize, 1 => 0..40_000usize]
}

fn random_edits() -> impl Strategy<Value = Vec<(Index, Nops)>> {
    let nops = (counts(), prop::option::weighted(0.1, 0..5usize), counts());
    let nops = nops.prop_map(|(before, instead, after)| Nops { before, instead, after });
    prop::collection::vec((any::<Index>(), nops), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(2_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_edits_keep_control_flow_or_are_refused(method in any::<Index>(), chosen in random_edits()) {
        let (class, name, content) = method.get(methods());
        let code = Code::parse(content).unwrap();
        let program = Program::of(&code, &ClassFile::parse(&class.bytes).unwrap().pool);
        let mut edits = Edits::new();
        for (index, mut nops) in chosen {
            let position = index.index(program.steps.len());
            let step = &program.steps[position];
            // Jumps must not be replaced; a frame may name a `new`.
            nops.instead = nops.instead.filter(|_| step.targets.is_empty() && !step.is_new());
            edits.insert(position, nops);
        }
        let checked = check(class, content, &edits);
        prop_assert!(checked.is_ok(), "{} {name}: {}", class.name, checked.unwrap_err());
    }
}

/// A body of `goto +distance`, that many `nop`s but for the `goto` itself, and `return`.
fn jump_over(distance: u16) -> Vec<u8> {
    let [high, low] = distance.to_be_bytes();
    let mut bytes = vec![0xa7, high, low];
    bytes.resize(distance.into(), Step::NOP);
    bytes.push(0xb1);
    bytes
}

#[test]
fn a_jump_at_its_limit_is_refused_when_it_grows() {
    let class = &classes()[0];
    let mut pool = ClassFile::parse(&class.bytes).unwrap().pool;
    for (distance, refusal) in [(32_766, None), (32_767, Some(Error::BranchTooFar))] {
        let bytes = jump_over(distance);
        let code = Code { max_stack: 0, max_locals: 0, bytes: &bytes, exceptions: Vec::new(), attributes: Vec::new() };
        let edits = Edits::from([(1, Nops { before: 1, ..Nops::default() })]);
        assert_eq!(apply(&code, &edits, None, &mut pool).err(), refusal, "at {distance}");
    }
}

#[test]
fn the_end_of_a_range_stays_before_what_is_inserted_there() {
    let class = &classes()[0];
    let mut pool = ClassFile::parse(&class.bytes).unwrap().pool;
    let exceptions = vec![ExceptionEntry { start: 0, end: 1, handler: 2, catch_type: 0 }];
    let code = Code { max_stack: 1, max_locals: 0, bytes: &[0, 0, ATHROW], exceptions, attributes: Vec::new() };
    let edits = Edits::from([
        (0, Nops { before: 1, instead: None, after: 1 }),
        (1, Nops { before: 1, ..Nops::default() }),
        (2, Nops { before: 1, ..Nops::default() }),
    ]);
    let edited = apply(&code, &edits, None, &mut pool).unwrap();
    let entry = Code::parse(&edited).unwrap().exceptions[0];
    assert_eq!((entry.start, entry.end, entry.handler), (0, 3, 5));
}

#[test]
fn an_edit_between_two_instructions_is_refused() {
    let class = &classes()[0];
    let mut pool = ClassFile::parse(&class.bytes).unwrap().pool;
    let code = Code {
        max_stack: 1,
        max_locals: 0,
        bytes: &[0x10, 0, 0x57, 0xb1],
        exceptions: Vec::new(),
        attributes: Vec::new(),
    };
    let mut editor = CodeEditor::new(&code);
    editor.before(1, &[Step::NOP]);
    assert_eq!(editor.apply(&mut pool), Err(Error::BadTarget { pc: 1 }));
}
