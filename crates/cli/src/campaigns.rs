//! Campaigns on one machine know of each other, since two at once disturb what both measure.
//!
//! Each holds one of a few abstract unix sockets. The kernel gives it back however a campaign
//! ends, no file is left, no link can lead elsewhere, and programs that it starts don't inherit
//! it. The kernel also says which process of which user holds it, so that a message needs nobody's
//! word. Such sockets belong to a network namespace: campaigns in containers with a network of
//! their own don't see each other.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bakeoff_stage::{peer, user_name};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::flags::OtherCampaigns;
use crate::interrupt::Interrupt;
use crate::{exit, output};

/// Beginning of a socket's name; a number follows.
const NAME: &str = "bakeoff-campaign";
/// Another beginning, for tests that run beside each other.
const NAME_VARIABLE: &str = "BAKEOFF_CAMPAIGNS";
/// Campaigns that can know of each other.
const PLACES: u32 = 32;
/// Connections to a campaign that it never accepts: one for each other one that asked or waits.
const ASKED_MAX: i32 = 4096;
/// How often one that waits looks whether it was interrupted.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Characters of a command line in a message.
const COMMAND_CHARS: usize = 200;

/// What to do when another campaign is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhileOthersRun {
    /// Name it and end.
    Refuse,
    /// Begin when it has ended.
    Wait,
    /// Go on.
    GoOn,
}

impl From<OtherCampaigns> for WhileOthersRun {
    fn from(flags: OtherCampaigns) -> Self {
        match (flags.wait, flags.beside) {
            (true, _) => Self::Wait,
            (_, true) => Self::GoOn,
            _ => Self::Refuse,
        }
    }
}

/// A campaign's place among those of this machine.
#[derive(Debug)]
pub(crate) struct Place {
    _socket: OwnedFd,
    /// Other campaigns that ran when this one began.
    pub(crate) others: Vec<String>,
}

/// Another campaign.
struct Other {
    /// Ends when the other campaign does.
    connection: Option<OwnedFd>,
    description: String,
}

impl Place {
    /// Takes a place; `None` when somebody stopped the wait for one.
    pub(crate) fn take(
        mode: WhileOthersRun,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Option<Self>> {
        let mut waited_for = String::new();
        loop {
            let (socket, others) = look()?;
            let Some(first) = others.first() else {
                let others = Vec::new();
                return Ok(socket.map(|socket| Self {
                    _socket: socket,
                    others,
                }));
            };
            match (mode, socket) {
                (WhileOthersRun::GoOn, Some(socket)) => {
                    let others = others.into_iter().map(|other| other.description);
                    return Ok(Some(Self {
                        _socket: socket,
                        others: others.collect(),
                    }));
                }
                (WhileOthersRun::Wait, socket) => {
                    // Others that begin now must not wait for one that waits.
                    drop(socket);
                    if first.description != waited_for {
                        output::note(&format!("waiting for the end of {}", first.description));
                        waited_for.clone_from(&first.description);
                    }
                    if !first.has_ended(interrupt) {
                        return Ok(None);
                    }
                }
                (WhileOthersRun::Refuse | WhileOthersRun::GoOn, _) => return Err(refusal(first)),
            }
        }
    }
}

fn refusal(other: &Other) -> anyhow::Error {
    exit::usage(format!(
        "another campaign is running on this machine: {}; two at once disturb what both measure: \
         add --wait to begin when it has ended, or --beside to measure beside it",
        other.description
    ))
}

impl Other {
    /// Waits for its end; `false` when somebody stopped the wait.
    fn has_ended(&self, interrupt: &Interrupt) -> bool {
        let wait = Timespec::try_from(LOOK_AGAIN).ok();
        while !interrupt.came() {
            let Some(connection) = &self.connection else {
                std::thread::sleep(LOOK_AGAIN);
                return true;
            };
            let mut watched = [PollFd::new(connection, PollFlags::IN)];
            if poll(&mut watched, wait.as_ref()).is_ok_and(|ready| ready > 0) {
                return true;
            }
        }
        false
    }
}

/// Other campaigns that run on this machine.
pub(crate) fn others() -> anyhow::Result<Vec<String>> {
    let (_place, others) = look()?;
    Ok(others.into_iter().map(|other| other.description).collect())
}

/// Takes the first free place, if there is one, and finds who has the others.
fn look() -> anyhow::Result<(Option<OwnedFd>, Vec<Other>)> {
    let name = std::env::var(NAME_VARIABLE).unwrap_or_else(|_| NAME.to_owned());
    let mut own = None;
    let mut others = Vec::new();
    for number in 0..PLACES {
        let address = SocketAddrUnix::new_abstract_name(format!("{name}-{number}").as_bytes());
        let address = address.map_err(|cause| {
            let wrong = format!("{NAME_VARIABLE} is no name that a socket can have: {cause}");
            exit::usage(wrong)
        })?;
        if own.is_none() {
            own = listen(&address).map_err(cannot_look)?;
            if own.is_some() {
                continue;
            }
        }
        others.extend(other_at(&address).map_err(cannot_look)?);
    }
    Ok((own, others))
}

fn cannot_look(cause: io::Error) -> anyhow::Error {
    anyhow::Error::new(cause).context("failed to look for other campaigns on this machine")
}

/// Takes the place of this name; `None` when somebody has it.
fn listen(address: &SocketAddrUnix) -> io::Result<Option<OwnedFd>> {
    let socket = socket()?;
    match rustix::net::bind(&socket, address) {
        Ok(()) => {}
        Err(Errno::ADDRINUSE) => return Ok(None),
        Err(cause) => return Err(cause.into()),
    }
    rustix::net::listen(&socket, ASKED_MAX)?;
    Ok(Some(socket))
}

/// Who has the place of this name, if anybody has.
fn other_at(address: &SocketAddrUnix) -> io::Result<Option<Other>> {
    let socket = socket()?;
    match rustix::net::connect(&socket, address) {
        Ok(()) => {}
        Err(Errno::CONNREFUSED) => return Ok(None),
        // It is there, and so many have asked that it cannot be asked any more.
        Err(Errno::AGAIN) => {
            return Ok(Some(Other {
                connection: None,
                description: "a process that cannot be asked".to_owned(),
            }));
        }
        Err(cause) => return Err(cause.into()),
    }
    let (pid, uid) = peer(&socket)?;
    Ok(Some(Other {
        connection: Some(socket),
        description: describe(pid, uid),
    }))
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

/// Process, user, command line and start, as far as this user may know them.
fn describe(pid: u32, uid: u32) -> String {
    if pid == 0 {
        return format!("a process of {} outside this container", user_name(uid));
    }
    let mut text = format!("process {pid} of {}", user_name(uid));
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = command
        .split(|&byte| byte == 0)
        .map(String::from_utf8_lossy);
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        // A command line may hold anything, and is shown on a terminal.
        let line: String = words.join(" ").chars().take(COMMAND_CHARS).collect();
        text.push_str(&format!(", `{}`", line.escape_debug()));
    }
    if let Some(start) = bakeoff_probe::started_at(pid)
        && let Ok(start) = jiff::Timestamp::try_from(start)
    {
        text.push_str(&format!(", since {}", start.strftime("%Y-%m-%dT%H:%M:%SZ")));
    }
    text
}
