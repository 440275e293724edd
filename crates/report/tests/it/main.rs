//! Every output format, drawn from invented records; golden files are in `tests/golden`.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod change;
mod compare;
mod consumers;
mod copies;
mod figures;
mod find;
mod going_on;
mod golden;
mod goldens;
mod history;
mod hostile;
mod meaning;
mod overload;
mod planting;
mod published;
mod schema;
mod secrets;
mod selftest;
mod site;
mod terminal;
