//! Starts the agent on a host, puts the program there if it is missing, and takes the host.

use crate::digest::Own;
use crate::error::{Cause, HostError, cause_of_end};
use crate::greeting::Greeting;
use crate::session::{Begun, Session};
use crate::upload::upload;
use crate::way::{Place, Way};

/// Exit code of a shell that did not find the command.
const NOT_FOUND: i32 = 127;
/// Exit code of a shell that found it and could not execute it.
const NOT_EXECUTABLE: i32 = 126;
/// Exit code of ssh where ssh itself failed.
const SSH_FAILED: i32 = 255;
/// Exit codes from here on are of shells whose command a signal ended: 128 and the signal.
const BY_SIGNAL: i32 = 128;

/// Opens a session with the host: its agent runs the program of this process, and the host is
/// taken for `owner` until the session ends.
///
/// # Errors
/// Why the host cannot be used, with its name.
pub fn open(place: &Place, own: &Own, owner: &str) -> Result<Session, HostError> {
    let named = |cause| HostError {
        host: place.name.clone(),
        cause,
    };
    let mut session = begin(place, own).map_err(named)?;
    session.take(owner)?;
    Ok(session)
}

fn begin(place: &Place, own: &Own) -> Result<Session, Cause> {
    let ended = match Session::begin(place, own)? {
        Begun::Greeted(session, greeting) => return checked(place, own, *session, &greeting),
        Begun::Ended(ended) => ended,
    };
    // A copy that is not whole is as good as none. What a shell says of it is one of these.
    let is_useless = matches!(
        ended.code,
        Some(NOT_EXECUTABLE | NOT_FOUND | BY_SIGNAL..SSH_FAILED)
    );
    if is_useless && place.takes_uploads() {
        upload(place, own)?;
    } else {
        return Err(end(place, own, ended.code, ended.message));
    }
    match Session::begin(place, own)? {
        Begun::Greeted(session, greeting) => checked(place, own, *session, &greeting),
        Begun::Ended(ended) => Err(end(place, own, ended.code, ended.message)),
    }
}

fn end(place: &Place, own: &Own, code: Option<i32>, message: String) -> Cause {
    let program = place.program_there(own);
    match code {
        Some(NOT_FOUND) => Cause::Missing(program),
        Some(NOT_EXECUTABLE) => Cause::NotExecutable { program, message },
        // Of ssh's own codes this one says why by itself.
        Some(SSH_FAILED) if matches!(place.way, Way::Ssh(_)) => cause_of_end(code, message),
        _ => match cause_of_end(code, message) {
            Cause::Unreachable(message) | Cause::Ended(message) => Cause::NotBegun {
                code,
                message: format!("{}: {message}", place.agent(own).join(" ")),
            },
            known => known,
        },
    }
}

fn checked(
    place: &Place,
    own: &Own,
    session: Session,
    greeting: &Greeting,
) -> Result<Session, Cause> {
    if greeting.digest == own.digest {
        return Ok(session);
    }
    Err(Cause::OtherProgram {
        theirs: Box::new(greeting.clone()),
        program: place.program_there(own),
        own: own.digest.short(),
    })
}
