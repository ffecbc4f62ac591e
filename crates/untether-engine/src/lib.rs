//! What the commands do: a request goes in, project, JVMs, analysis and store are brought together, and what came of it
//! goes out. Whoever waits is told by events.
//!
//! Nothing here prints, and nothing decides what is searched for next or what follows: that is analysis.

mod clock;
mod detect;
mod doctor;
mod error;
mod latest;
mod merge;
mod own;
mod refine;
mod replay;
mod run;
mod scratch;
mod select;

pub use detect::{ClassPathTests, DetectRequest, Detected, Ending, Tests, Unseen, detect};
pub use doctor::examine;
pub use error::EngineError;
pub use latest::latest_refinement;
pub use merge::merge;
pub use refine::{RefineEvent, RefineRequest, Refined, refine};
pub use replay::{ReplayRequest, replay};
pub use run::{Isolation, Ran, RunEvent, RunRequest, run};
pub use select::{SelectEvent, SelectRequest, SelectiveRunRequest, SelectivelyRan, folder_of, run_selectively, select};
pub use untether_analysis::refine::{Phase, Strategy};
pub use untether_runner::{Output, Progress, WatchEvent};
