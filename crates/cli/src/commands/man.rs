//! `bakeoff man`: the manual page, or one for each command.

use anyhow::Context;

use crate::exit;
use crate::flags::{ManFlags, command};

pub(crate) fn carry_out(flags: &ManFlags) -> anyhow::Result<u8> {
    if let Some(folder) = &flags.output {
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command(), folder));
        written.with_context(|| format!("failed to write pages into {}", folder.display()))?;
        return Ok(exit::DONE);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command()).render(&mut text)?;
    super::print(&text)
}
