//! Real and scripted servers: started, asked, watched and stopped.

mod contacts;
mod faults;
mod keeper;
mod life;
mod listening;
mod own;
mod real;
mod support;
