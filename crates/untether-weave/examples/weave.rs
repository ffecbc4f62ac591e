//! Weaves one class file with heap probes, for looking at with `javap -c`.

use std::collections::HashMap;
use std::sync::Arc;

use untether_weave::{Accesses, ClassShape, Families, Numbering, Resolver, Weaver};

struct Nothing;

impl Resolver for Nothing {
    fn shape(&self, _name: &[u8]) -> Option<Arc<ClassShape>> {
        None
    }
}

#[derive(Default)]
struct Counting(HashMap<Vec<u8>, u32>);

impl Counting {
    fn number(&mut self, parts: [&[u8]; 3]) -> u32 {
        let next = self.0.len() as u32 + 1;
        *self.0.entry(parts.concat()).or_insert(next)
    }
}

impl Numbering for Counting {
    fn instance_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32 {
        self.number([owner, name, descriptor])
    }

    fn static_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32 {
        self.number([owner, name, descriptor])
    }

    fn initializer(&mut self, class: &[u8]) -> u32 {
        self.number([class, b"", b""])
    }

    fn class(&mut self, name: &[u8]) -> u32 {
        self.number([name, b"", b""])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: weave IN.class OUT.class".into());
    };
    let bytes = std::fs::read(from)?;
    let mut numbering = Counting::default();
    let families = Families { heap: Some(Accesses::All), boundaries: true, uses: false };
    let mut weaver = Weaver { families, resolver: &Nothing, numbering: &mut numbering };
    let woven = weaver.weave(&bytes);
    std::fs::write(to, woven.bytes.unwrap_or(bytes))?;
    Ok(())
}
