//! The network of somebody else on this machine, such as a container: a thread enters it before it
//! makes sockets, and what it makes stays there.
//!
//! Nothing is made here, and no namespace outlives what holds it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace that is held open.
#[derive(Debug, Clone)]
pub struct Network(Arc<OwnedFd>);

impl Network {
    /// The one that a process is in.
    ///
    /// # Errors
    /// When the process is gone, or may not be looked at.
    pub fn of(process: u32) -> io::Result<Self> {
        let file = File::open(format!("/proc/{process}/ns/net"))?;
        Ok(Self(Arc::new(file.into())))
    }

    /// Lets the calling thread, and the threads that it starts, make their sockets there from now
    /// on. It takes root.
    ///
    /// # Errors
    /// When this user may not.
    pub fn enter(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.0.as_fd(), kind)?)
    }

    /// Does something there, in a thread that ends with it.
    ///
    /// # Errors
    /// When this user may not, or no thread can be had.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let enter = || self.enter().map(|()| act());
            let thread = std::thread::Builder::new().spawn_scoped(scope, enter)?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// The same, where there is one to do it in; else here.
///
/// # Errors
/// Those of [`Network::within`].
pub fn within<T: Send>(network: Option<&Network>, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    match network {
        Some(network) => network.within(act),
        None => Ok(act()),
    }
}

impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Network {}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process in a network of its own.
    struct Elsewhere(Child);

    impl Elsewhere {
        fn start() -> Option<Self> {
            if !rustix::process::geteuid().is_root() {
                eprintln!("PASSED OVER: only root makes and enters networks");
                return None;
            }
            let script = "ip link set lo up; echo; exec sleep 600";
            let mut command = Command::new("unshare");
            command.args(["--net", "sh", "-c", script]);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut ready = [0];
            let output = child.stdout.as_mut().unwrap();
            io::Read::read_exact(output, &mut ready).unwrap();
            Some(Self(child))
        }
    }

    impl Drop for Elsewhere {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn sockets_are_made_in_the_network_that_was_entered() {
        let Some(other) = Elsewhere::start() else {
            return;
        };
        let network = Network::of(other.0.id()).unwrap();
        let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = network.within(bind).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(
            network
                .within(|| TcpStream::connect(address))
                .unwrap()
                .is_ok()
        );
        assert!(TcpStream::connect(address).is_err(), "it is not here");
        let seen = || crate::listening().unwrap();
        let is_it = |one: &crate::TcpSocket| one.own == address;
        assert!(network.within(seen).unwrap().iter().any(is_it));
        assert!(!seen().iter().any(is_it));
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        assert!(Network::of(u32::MAX).is_err());
    }
}
