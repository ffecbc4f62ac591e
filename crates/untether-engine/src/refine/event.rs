//! What happens in the course of a refinement, for those who wait.

use untether_analysis::refine::Phase;
use untether_model::Finding;

#[derive(Debug, Clone, Copy)]
pub enum RefineEvent<'e> {
    /// Something else is being done now.
    Phase(Phase),
    /// So many schedules had been run by an earlier refinement.
    Known { schedules: usize },
    /// A schedule, or a number of trials, has been run: so many tests.
    Ran { tests: usize },
    /// A test's outcome depends on the order: that is proved. What more is known of it comes at the end.
    Found(&'e Finding),
}

/// Whoever is told.
pub(super) type Emit<'e> = dyn FnMut(RefineEvent<'_>) + 'e;
