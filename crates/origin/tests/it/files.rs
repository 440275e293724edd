//! The server when the system has no file left for a connection. In a process of its own, because
//! the limit holds for all of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use bakeoff_origin::{Name, Reply, ServeOptions, serve};
use bakeoff_plan::Protocol;
use rustix::net::{AddressFamily, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn connections_wait_until_there_are_files_again() {
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::run_out_of_files", "--ignored"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert!(printed.contains("1 passed; 0 failed"), "{printed}");
}

#[test]
#[ignore = "lowers a limit of its process: the test above runs it alone"]
fn run_out_of_files() {
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let options = ServeOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        also: Vec::new(),
        control: "127.0.0.1:0".parse().unwrap(),
        threads: 1,
        pin: Vec::new(),
        reply: Reply {
            status: 200,
            content_type: "text/plain".into(),
            body: b"hi".into(),
        },
        name: Name::Yardstick,
        protocol: Protocol::H1,
        certificate: None,
    };
    let counts = std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve(
                &options,
                &mut |address, _| sender.send(address).unwrap(),
                &stop,
            )
        });
        let address = receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        // One served connection shows that the loop has all the files that it needs for itself.
        assert!(answer(TcpStream::connect(address).unwrap()).starts_with("HTTP/1.1 200 "));

        let sockets: Vec<_> = (0..20)
            .map(|_| socket(AddressFamily::INET, SocketType::STREAM, None).unwrap())
            .collect();
        let before = getrlimit(Resource::Nofile);
        let lowest = sockets.iter().map(AsRawFd::as_raw_fd).min().unwrap();
        let none = Rlimit {
            current: Some(lowest as u64),
            maximum: before.maximum,
        };
        setrlimit(Resource::Nofile, none).unwrap();
        for socket in &sockets {
            connect(socket, &address).unwrap();
        }
        std::thread::sleep(Duration::from_secs(1));
        setrlimit(Resource::Nofile, before).unwrap();
        for socket in sockets {
            assert!(answer(TcpStream::from(socket)).ends_with("\r\n\r\nhi"));
        }
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap()
    });
    assert_eq!((counts.requests, counts.connections), (21, 21));
    // A loop that spins would have failed some hundred thousand times.
    assert!((1..1_000).contains(&counts.accept_errors), "{counts:?}");
}

fn answer(mut stream: TcpStream) -> String {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
