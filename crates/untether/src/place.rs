//! Where the store is: where the user says, else in this folder or the nearest one above that has one.

use std::path::{Path, PathBuf};

use untether_store::Store;

const NAME: &str = ".untether";

/// The store to make, or to make anew: in this folder, unless another is named.
pub(crate) fn for_writing(given: Option<&Path>) -> PathBuf {
    given.unwrap_or(Path::new(NAME)).to_path_buf()
}

/// The store to look into. Where there is none, the one that this folder would have.
pub(crate) fn for_reading(given: Option<&Path>) -> PathBuf {
    let above = || {
        let here = std::env::current_dir().ok()?;
        let found =
            here.ancestors().map(|folder| folder.join(NAME)).find(|store| store.join(Store::FILE_NAME).exists())?;
        // Shorter to read where it is right here.
        Some(if found.parent() == Some(&here) { PathBuf::from(NAME) } else { found })
    };
    given.map(Path::to_path_buf).or_else(above).unwrap_or_else(|| PathBuf::from(NAME))
}

/// Another store, named by its folder, by its file, or by the folder of its project.
pub(crate) fn other(given: &Path) -> PathBuf {
    let of_project = given.join(NAME);
    match given.parent() {
        Some(folder) if given.is_file() && given.ends_with(Store::FILE_NAME) => folder.to_path_buf(),
        _ if of_project.join(Store::FILE_NAME).exists() => of_project,
        _ => given.to_path_buf(),
    }
}

/// The folder whose `untether.toml` counts for a store: the one that it lies in, as far as it was found by its name.
pub(crate) fn project_of(store: &Path) -> &Path {
    match store.parent() {
        Some(folder) if store.ends_with(NAME) && folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

pub(crate) use untether_engine::folder_of;
