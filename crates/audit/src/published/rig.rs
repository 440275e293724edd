//! What is known of the machines and the load of a table, from flags and not from its rows.

use std::collections::BTreeSet;

use bakeoff_published::Published;

/// Most cells that a message names.
const NAMED_MOST: usize = 20;

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
    /// Requests a second that the generator was asked for; 0 if it was asked for no rate.
    pub planned_per_s: Option<f64>,
    /// Requests a second that the generator reached against a null server.
    pub ceiling_per_s: Option<f64>,
    /// Processors of the server.
    pub cores: Option<f64>,
    /// Processors of the generator.
    pub client_cores: Option<f64>,
}

impl Rig {
    /// Whether the sizes of bodies are about rows of this table, and each about others.
    ///
    /// # Errors
    /// A name that is no cell of any row's name, or that has two sizes, and what to do.
    pub fn check_bodies(&self, published: &Published) -> Result<(), String> {
        for (index, (cell, _)) in self.bodies.iter().enumerate() {
            let of = cell.as_ref().map_or_else(
                || "of all rows that no name is for".to_owned(),
                |cell| format!("of `{cell}`"),
            );
            if self.bodies[..index].iter().any(|(other, _)| other == cell) {
                return Err(format!("--body gives two sizes {of}: leave one out"));
            }
            let Some(cell) = cell else { continue };
            let mut cells = published.rows.iter().flat_map(|row| &row.name);
            if !cells.any(|(_, other)| other == cell) {
                return Err(format!(
                    "--body gives the size {of}, which is no cell in the name of a row; there \
                     are: {}",
                    names(published)
                ));
            }
        }
        Ok(())
    }

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

/// The cells in the names of rows, the first of very many.
fn names(published: &Published) -> String {
    let cells = published.rows.iter().flat_map(|row| &row.name);
    let cells: BTreeSet<&str> = cells.map(|(_, cell)| cell.as_str()).collect();
    let more = if cells.len() > NAMED_MOST {
        " and more"
    } else {
        ""
    };
    let cells: Vec<&str> = cells.into_iter().take(NAMED_MOST).collect();
    if cells.is_empty() {
        "none, so write --body BYTES".to_owned()
    } else {
        format!("{}{more}", cells.join(", "))
    }
}
