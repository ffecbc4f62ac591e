//! Starts watched JVMs, directly or through a build tool, and gathers what they report; runs schedules in worker
//! JVMs.
//!
//! Knows processes and wire frames; hands out model values and events, and prints nothing.

mod agent;
mod archive;
mod command;
mod context;
mod error;
mod external;
mod gather;
mod isolated;
mod left;
mod lifeline;
mod questions;
mod results;
mod runs;
mod schedule;
mod stop;
mod trials;
mod watch;
mod worker;

pub use agent::agent_library;
pub use command::JvmCommand;
pub use context::{WorkerContext, filters_of, is_jvm_property, launch_settings};
pub use error::RunnerError;
pub use gather::{Gathered, Progress};
pub use isolated::{Isolated, WholeClass, World};
pub use left::put_back_set_aside;
pub use results::{ResultReader, status_of};
pub use schedule::{Execution, Executor, Limits};
pub use stop::{listen_for_signals, stop_signal};
pub use trials::Trials;
pub use watch::{Answer, Launcher, Output, WatchEvent, WatchRequest, Watched, Watching, watch, watch_and_answer};
pub use worker::{WorkerRequest, find_java, worker_command};
