//! Random exchanges with the `h2` crate as the server, over a pipe in memory: what the client
//! saw must be what the server did. The seed is fixed, so a failure comes again.

mod client;
mod script;
mod server;
mod shadow;

use std::sync::{Arc, Mutex};

use script::{Connection, Random};

/// Exchanges for each case that proptest would look at, of which `make night` asks for more.
const EXCHANGES: usize = 8;

/// Carries out connections until so many exchanges have ended; returns how many ended in which
/// way, and how many of them were not as the script says, as text.
fn run(seed: u64, exchanges: usize) -> client::Ends {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers");
    let mut random = Random(seed);
    let mut ends = client::Ends::default();
    while ends.count() < exchanges {
        let connection = Arc::new(Connection::random(&mut random));
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let (near, far) = tokio::io::duplex(connection.pipe_bytes);
        runtime.block_on(async {
            let tasks = tokio::task::LocalSet::new();
            let serving = server::serve(far, connection.clone(), complaints.clone());
            tasks.spawn_local(serving);
            let driving = client::drive(near, connection.clone(), random.branch());
            ends.add(tasks.run_until(driving).await);
        });
        let complaints = complaints.lock().expect("nobody panicked");
        assert!(complaints.is_empty(), "{complaints:?} in {connection:?}");
    }
    ends
}

#[test]
fn exchanges_are_seen_as_the_server_made_them() {
    let exchanges = EXCHANGES * proptest::test_runner::Config::default().cases as usize;
    let ends = run(0x5eed, exchanges);
    println!("{ends:?}");
    // Each way to end was met, or the test says less than its name.
    assert!(
        ends.whole > exchanges / 2 && ends.reset > exchanges / 100,
        "{ends:?}"
    );
    assert!(
        ends.cancelled > exchanges / 100 && ends.malformed > exchanges / 100,
        "{ends:?}"
    );
    assert!(
        ends.refused > exchanges / 1_000 && ends.cut_off > exchanges / 1_000,
        "{ends:?}"
    );
}
