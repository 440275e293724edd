//! `bakeoff man`: the manual page, or one for each command.

use anyhow::Context;
use clap::CommandFactory;

use crate::exit;
use crate::flags::{Flags, ManFlags};

pub(crate) fn carry_out(flags: &ManFlags) -> anyhow::Result<u8> {
    if let Some(folder) = &flags.output {
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Flags::command(), folder));
        written.with_context(|| format!("failed to write pages into {}", folder.display()))?;
        return Ok(exit::DONE);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(Flags::command()).render(&mut text)?;
    super::print(&text)
}
