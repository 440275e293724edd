//! The environment that a server is started in.

use super::{Prepared, Start};
use crate::environment;
use crate::error::StageError;

impl Prepared {
    /// Renders what the server's folder sets, and finds what it does not let through.
    pub(super) fn render_environment(&mut self) -> Result<(), StageError> {
        let declared = &self.server.description.environment;
        let mut given = Vec::new();
        for (name, value) in declared {
            let mut rendered = self.render_all("environment", std::slice::from_ref(value))?;
            // An empty value would still be a value; leaving it out is what the template means.
            let value = rendered.pop().filter(|value| !value.is_empty());
            given.extend(value.map(|value| (name.clone(), value)));
        }
        self.start.unset = environment::withheld(declared, &given);
        self.start.environment = given;
        Ok(())
    }
}

impl Start {
    /// What to type to start it by hand, as `command.txt` keeps it.
    pub(super) fn lines(&self) -> String {
        let unset = self.unset.iter().map(|name| format!("unset {name}\n"));
        let set = self.environment.iter();
        let set = set.map(|(name, value)| format!("{name}={value}\n"));
        let command = [self.command.join(" "), "\n".to_owned()];
        unset.chain(set).chain(command).collect()
    }
}
