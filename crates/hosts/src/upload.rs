//! Puts the program on a host that does not have it: its bytes go to the standard input of a
//! command there.

use std::io::{self, Read as _, Write as _};
use std::process::ChildStdin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::monotonic_ns;
use crate::digest::Own;
use crate::error::{Cause, cause_of_upload};
use crate::image::Image;
use crate::lease::Lease;
use crate::session::Child;
use crate::way::Place;

/// Bytes written at once. One within the longest pause keeps the upload going: 13 kbit/s.
const PIECE: usize = 32 << 10;
/// Longest pause of the upload.
const STALLED_MAX: Duration = Duration::from_secs(20);
/// More than ssh, pipes and sockets keep back of what was written: ssh has a window of 2 MiB.
const KEPT_BACK_BYTES: u64 = 4 << 20;
/// Bytes that the command may say besides.
const SAID_BYTES_MAX: u64 = 1 << 20;
/// Between two looks at the command.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Puts this program on the host.
pub(crate) fn upload(place: &Place, own: &Own) -> Result<(), Cause> {
    let mut child = Child::start(&place.upload(&own.digest, own.bytes))?;
    // The script says nothing, but a login file may: a command must not end by that, nor wait.
    if let Some(output) = child.take_output() {
        let ignore = move || io::copy(&mut output.take(SAID_BYTES_MAX), &mut io::sink());
        let thread = std::thread::Builder::new().name("banner".to_owned());
        drop(thread.spawn(ignore));
    }
    let input = child.take_input();
    let (begun_ns, bytes) = (monotonic_ns(), own.bytes);
    let progress = Arc::new(Lease::new(STALLED_MAX, begun_ns));
    let renewed = progress.clone();
    // A command that was stopped takes nothing, and a write would wait for it without end.
    let writer = std::thread::Builder::new()
        .name("upload".to_owned())
        .spawn(move || match input {
            Some(input) => {
                let sent = send(input, || renewed.renew(monotonic_ns()));
                let now_ns = monotonic_ns();
                let took_ns = now_ns.saturating_sub(begun_ns);
                renewed.renew(now_ns.saturating_add(rest_ns(took_ns, bytes)));
                sent
            }
            None => Ok(()),
        });
    let status = loop {
        if let Some(status) = child.ended() {
            break status;
        }
        if progress.left(monotonic_ns()).is_none() {
            child.kill();
            let seconds = STALLED_MAX.as_secs();
            let why = format!("nothing went through for {seconds} s");
            return Err(Cause::Upload(why));
        }
        std::thread::sleep(LOOK_AGAIN);
    };
    // It ends with the command at the latest, whose end closes the pipe.
    let sent = writer.map(|writer| writer.join().unwrap_or(Ok(())));
    if status.success() {
        return Ok(());
    }
    let mut message = child.errors(Instant::now() + Duration::from_secs(1));
    if let Ok(Err(error)) = sent
        && message.is_empty()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        message = error.to_string();
    }
    Err(cause_of_upload(status.code(), own.bytes, message))
}

/// What the last bytes may take on their way after all `bytes` were written in this time. Of a
/// slow link most of it went by while others made room for them.
fn rest_ns(took_ns: u64, bytes: u64) -> u64 {
    let kept_back = u128::from(KEPT_BACK_BYTES.min(bytes));
    let rest = u128::from(took_ns) * kept_back / u128::from(bytes.max(1));
    u64::try_from(rest).unwrap_or(u64::MAX)
}

fn send(mut input: ChildStdin, mut wrote: impl FnMut()) -> io::Result<()> {
    let mut program = Image::own()?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = program.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        input.write_all(&piece[..read])?;
        wrote();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::Way;

    /// Of 16 MiB at 0.8 Mbit/s the last 2.2 MiB need 23 s after they were written.
    #[test]
    fn the_last_bytes_have_the_time_that_those_before_them_took() {
        let second = 1_000_000_000;
        let mib = 1 << 20;
        assert_eq!(rest_ns(144 * second, 16 * mib), 36 * second);
        assert_eq!(rest_ns(0, 16 * mib), 0);
        assert_eq!(rest_ns(second, mib), second, "it is shorter than that");
        assert_eq!(rest_ns(0, 0), 0);
    }

    #[test]
    fn what_a_command_says_does_not_end_the_upload() {
        let home = tempfile::tempdir().unwrap();
        let at_home = format!("HOME={}", home.path().display());
        let banner = "sleep 0.1; echo welcome; exec \"$@\"";
        let command = ["env", &at_home, "sh", "-c", banner, "-"];
        let place = Place {
            name: "x".to_owned(),
            way: Way::Command(command.map(str::to_owned).to_vec()),
            program: None,
        };
        let own = Own::find().unwrap();
        upload(&place, &own).unwrap();
        let there = place.program_there(&own).replacen('~', "", 1);
        let there = home.path().join(there.trim_start_matches('/'));
        assert_eq!(std::fs::metadata(there).unwrap().len(), own.bytes);
    }
}
