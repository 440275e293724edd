//! `bakeoff origin` and `bakeoff yardstick`: the built-in servers by themselves.

use bakeoff_origin::{Name, Reply, ServeOptions, serve};

use crate::flags::ServeFlags;
use crate::interrupt::Interrupt;
use crate::{exit, output};

pub(crate) fn carry_out(flags: &ServeFlags, name: Name) -> anyhow::Result<u8> {
    let body = match (&flags.body_text, &flags.body) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => std::fs::read(path)
            .map_err(|error| exit::usage(format!("failed to read {}: {error}", path.display())))?,
        (None, None) => b"Hello, world!".to_vec(),
    };
    let options = ServeOptions {
        listen: flags.listen,
        control: flags.control,
        threads: flags.threads as usize,
        pin: flags.pin.clone().unwrap_or_default(),
        reply: Reply {
            status: flags.status,
            content_type: flags.content_type.clone(),
            body,
        },
        name,
    };
    let interrupt = Interrupt::listen()?;
    let mut told = Ok(());
    let counts = serve(
        &options,
        &mut |address, control| {
            let text = format!("listening on {address}\ncounts on http://{control}/counts\n");
            told = output::result(&text);
        },
        &interrupt.flag(),
    )?;
    told?;
    output::note(&format!("answered {} requests", counts.requests));
    Ok(exit::DONE)
}
