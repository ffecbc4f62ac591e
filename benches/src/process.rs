//! Runs a process to its end and says what it and the processes it waited for used.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Short beside a run of seconds, long beside what a look costs.
const POLL: Duration = Duration::from_millis(5);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exit(i32),
    Signal(i32),
    /// It was killed, because it took too long.
    Timeout,
}

/// What it took. Of memory, the largest process of the tree counts, as the kernel keeps no sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cpu_seconds: f64,
    pub(crate) wall_seconds: f64,
    pub(crate) peak_megabytes: f64,
}

/// Runs the command with its output in a file; kills it, with its descendants, when the time is over.
pub(crate) fn measure(command: &mut Command, output: &Path, limit: Duration) -> Result<(End, Usage), Failure> {
    let file = File::create(output).map_err(Failure::io("create", output))?;
    let copy = file.try_clone().map_err(Failure::io("open", output))?;
    command.stdin(Stdio::null()).stdout(file).stderr(copy);
    let started = Instant::now();
    let child = command.spawn().map_err(Failure::io("start", Path::new(command.get_program())))?;
    let process = child.id().cast_signed();
    let mut has_time = true;
    loop {
        let reaped = reap(process).map_err(|error| Failure::new(format!("cannot wait for a process: {error}")))?;
        let elapsed = started.elapsed();
        if let Some((end, usage)) = reaped {
            let end = if has_time { end } else { End::Timeout };
            return Ok((end, Usage { wall_seconds: elapsed.as_secs_f64(), ..usage }));
        }
        if has_time && elapsed > limit {
            has_time = false;
            kill_tree(process);
        }
        thread::sleep(POLL);
    }
}

/// None while it runs. The wall time is left to the caller.
fn reap(process: libc::pid_t) -> io::Result<Option<(End, Usage)>> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals of the types that wait4 writes.
    let reaped = unsafe { libc::wait4(process, &raw mut status, libc::WNOHANG, &raw mut usage) };
    match reaped {
        0 => return Ok(None),
        -1 => return Err(io::Error::last_os_error()),
        _ => {}
    }
    let end = if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Exit(libc::WEXITSTATUS(status))
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Some((
        end,
        Usage {
            cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            wall_seconds: 0.0,
            // Linux counts in units of 1024 bytes.
            peak_megabytes: usage.ru_maxrss as f64 * 1024.0 / 1e6,
        },
    )))
}

/// Children first would let a parent start others, so the parent goes first.
fn kill_tree(process: libc::pid_t) {
    let children = children(process);
    // SAFETY: kill takes numbers only; the process is a child not yet reaped, or a descendant just listed.
    unsafe { libc::kill(process, libc::SIGKILL) };
    children.into_iter().for_each(kill_tree);
}

fn children(process: libc::pid_t) -> Vec<libc::pid_t> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<(End, Usage), Failure> {
        let output = std::env::temp_dir().join(format!("untether-bench-{}-{}", std::process::id(), script.len()));
        let measured = measure(Command::new("sh").args(["-c", script]), &output, limit);
        fs::remove_file(output).unwrap();
        measured
    }

    #[test]
    fn the_end_and_the_children_that_were_waited_for_count() {
        let script = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; exit 7";
        let (end, usage) = shell(script, Duration::from_secs(60)).unwrap();
        assert_eq!(end, End::Exit(7));
        assert!(usage.cpu_seconds > 0.02 && usage.wall_seconds > 0.02 && usage.peak_megabytes > 0.5, "{usage:?}");
        assert_eq!(shell("kill -9 $$", Duration::from_secs(60)).unwrap().0, End::Signal(9));
    }

    #[test]
    fn what_takes_too_long_is_killed_with_its_children() {
        let started = Instant::now();
        assert_eq!(shell("sleep 30 & sleep 30", Duration::from_millis(200)).unwrap().0, End::Timeout);
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
