//! Values that templates use.

use std::collections::BTreeMap;

use minijinja::Value;

/// Values by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables(pub(crate) BTreeMap<String, Value>);

impl Variables {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Sets an address of the form `host:port` by its name, and its parts for configurations that
    /// have them apart: `NAME_ip`, without the brackets of version 6, and `NAME_port`.
    pub(crate) fn set_address(&mut self, name: &str, address: &str) {
        let (ip, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let ip = ip.trim_start_matches('[').trim_end_matches(']');
        self.set(name, address);
        self.set(&format!("{name}_ip"), ip);
        self.set(&format!("{name}_port"), port);
    }

    /// The values of those of `names` that are set, as a template writes them.
    pub(crate) fn texts(&self, names: &[&str]) -> BTreeMap<String, String> {
        let text = |name: &&str| Some(((*name).to_owned(), self.0.get(*name)?.to_string()));
        names.iter().filter_map(text).collect()
    }
}
