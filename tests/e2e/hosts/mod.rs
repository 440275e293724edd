//! Many hosts: agents, checks and loads over a real ssh between namespaces, and over a scripted
//! kubectl. What cannot be had here is said and passed over.

mod check;
mod deaths;
mod generators;
mod lab;
mod pods;
mod servers;
