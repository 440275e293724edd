//! What is known of the machines and the load beside the table.

/// What the user knows. A row's own figure counts more than these.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rig {
    /// Length of each measurement.
    pub duration_s: Option<f64>,
    /// Bytes of right answers' bodies, for rows with this cell in their name; without a cell for
    /// all others.
    pub bodies: Vec<(Option<String>, f64)>,
    /// What the link between generator and server carries.
    pub link_bits_per_s: Option<f64>,
    /// Clients.
    pub clients: Option<f64>,
    /// Requests that each client may have in flight.
    pub streams: Option<f64>,
    /// Rest of a client between two requests.
    pub think_s: Option<f64>,
    /// Requests a second that the generator was asked for.
    pub planned_per_s: Option<f64>,
    /// Requests a second that the generator reached against a null server.
    pub ceiling_per_s: Option<f64>,
    /// Processors of the server.
    pub cores: Option<f64>,
    /// Processors of the generator.
    pub client_cores: Option<f64>,
}

impl Rig {
    /// Bytes of a right answer's body in a row with these cells.
    pub(super) fn body_bytes(&self, name: &[(String, String)]) -> Option<f64> {
        let has = |cell: &String| name.iter().any(|(_, other)| other == cell);
        let named = self
            .bodies
            .iter()
            .find(|(cell, _)| cell.as_ref().is_some_and(has));
        let any = || self.bodies.iter().find(|(cell, _)| cell.is_none());
        named.or_else(any).map(|(_, bytes)| *bytes)
    }
}
