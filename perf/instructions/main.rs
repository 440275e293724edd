//! The load engine and the yardstick as one small program, so that counting the engine's
//! instructions takes a compilation of these two alone. It has no more than `callgrind.sh` needs:
//!
//! ```text
//! instructions yardstick              prints its address, serves until its input ends
//! instructions load ADDRESS COUNT     so many requests of 50 clients; prints how many were ok
//! ```

#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::error::Error;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bakeoff_load::{
    BodyCheck, ConnectionUse, Control, Exchange, ExpectedStatus, LoadSpec, Pacing, Speaking,
    Target, Threads, run,
};
use bakeoff_origin::{Name, Reply, ServeOptions, serve};
use bakeoff_plan::{Connect, Load, LoadModel, Protocol, RateShape};

/// Clients of the load.
const CLIENTS: u32 = 50;
/// The load ends by its count long before, also under callgrind.
const AT_MOST: Duration = Duration::from_secs(120);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["yardstick"] => yardstick(),
        ["load", address, count] => load(address, count.parse()?),
        _ => Err("expected `yardstick`, or `load ADDRESS COUNT`".into()),
    }
}

fn yardstick() -> Result<(), Box<dyn Error>> {
    let options = ServeOptions {
        listen: "127.0.0.1:0".parse()?,
        also: Vec::new(),
        control: "127.0.0.1:0".parse()?,
        threads: 1,
        pin: Vec::new(),
        reply: Reply {
            status: 200,
            content_type: "text/plain".to_owned(),
            body: b"Hello, world!".to_vec(),
        },
        name: Name::Yardstick,
        protocol: Protocol::H1,
        certificate: None,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let watched = stop.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        watched.store(true, Ordering::Relaxed);
    });
    serve(&options, &mut |address, _| println!("{address}"), &stop)?;
    Ok(())
}

fn load(address: &str, count: u64) -> Result<(), Box<dyn Error>> {
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let spec = LoadSpec {
        target: Target::at(address.parse()?, "/"),
        speaking: Speaking::H1 { tls: None },
        exchanges: vec![Exchange {
            name: "/".to_owned(),
            request: request.into_bytes().into(),
            h2: None,
            to_head_request: false,
            status: ExpectedStatus::Success,
            body: None,
            weight: 1,
        }],
        load: Load {
            connect: Connect::AsNeeded,
            ..Load::new(
                LoadModel::Closed { clients: CLIENTS },
                AT_MOST.as_secs_f64(),
            )
        },
        shape: RateShape::Level,
        count: Some(count),
        connections: ConnectionUse::default(),
        threads: Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        },
        seed: 1,
        check: BodyCheck::All,
        pacing: Pacing::default(),
        interval: LoadSpec::interval_for(AT_MOST),
    };
    println!("{}", run(&spec, &Control::default())?.requests.ok);
    Ok(())
}
