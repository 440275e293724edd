//! Many hosts: agents, checks and loads over a real ssh between namespaces, and over a scripted
//! kubectl. What cannot be had here is said and passed over.

mod campaigns;
mod check;
mod clocks;
mod deaths;
mod generators;
mod lab;
mod links;
mod own;
mod pods;
mod servers;
