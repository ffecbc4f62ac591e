//! What is known of classes that other classes refer to: found in the JDK's image or on the class path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use untether_weave::{ClassShape, Resolver};

use crate::agent::lock;
use crate::class_path::ClassPath;
use crate::image::Image;

/// By internal name; `None` for classes that could not be found.
type Known = HashMap<Box<[u8]>, Option<Arc<ClassShape>>>;

pub(crate) struct Shapes {
    known: Mutex<Known>,
    image: Option<Image>,
    class_path_text: String,
    class_path: OnceLock<Mutex<ClassPath>>,
}

impl Shapes {
    pub(crate) fn new(java_home: &str, class_path: String) -> Self {
        Shapes {
            known: Mutex::default(),
            image: Image::open(java_home),
            class_path_text: class_path,
            class_path: OnceLock::new(),
        }
    }

    fn find(&self, name: &[u8]) -> Option<ClassShape> {
        if let Some(bytes) = self.image.as_ref().and_then(|image| image.class(name)) {
            return ClassShape::parse(&bytes).ok();
        }
        let class_path = self.class_path.get_or_init(|| Mutex::new(ClassPath::parse(&self.class_path_text)));
        let bytes = lock(class_path).class(std::str::from_utf8(name).ok()?)?;
        ClassShape::parse(&bytes).ok()
    }
}

impl Resolver for Shapes {
    fn shape(&self, name: &[u8]) -> Option<Arc<ClassShape>> {
        if let Some(known) = lock(&self.known).get(name) {
            return known.clone();
        }
        let found = self.find(name).map(Arc::new);
        lock(&self.known).insert(name.into(), found.clone());
        found
    }
}
