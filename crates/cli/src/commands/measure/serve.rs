//! `bakeoff origin` and `bakeoff yardstick`: the built-in servers on their own.

use bakeoff_origin::{
    Behaviour, Certificate, Immediate, Name, OnDemand, Orders, OriginError, Reply, ServeOptions,
    serve_with,
};
use bakeoff_plan::Demand;

use crate::flags::{DemandFlags, OriginFlags, ServeFlags};
use crate::interrupt::Interrupt;
use crate::{exit, output};

pub(crate) fn yardstick(flags: &ServeFlags) -> anyhow::Result<u8> {
    carry_out(&options(flags, Name::Yardstick)?, Immediate)
}

pub(crate) fn origin(flags: &OriginFlags) -> anyhow::Result<u8> {
    let options = options(&flags.serve, Name::Origin)?;
    let orders = orders(&flags.demand);
    if orders.is_nothing() {
        return carry_out(&options, Immediate);
    }
    let behaviour = OnDemand::new(orders, &options.reply).map_err(usage)?;
    carry_out(&options, behaviour)
}

fn options(flags: &ServeFlags, name: Name) -> anyhow::Result<ServeOptions> {
    let body = match (&flags.body_text, &flags.body) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => super::body_at(path)
            .map_err(|error| exit::usage(format!("failed to read {}: {error}", path.display())))?,
        (None, None) => b"Hello, world!".to_vec(),
    };
    Ok(ServeOptions {
        listen: flags.listen,
        also: flags.also.clone(),
        control: flags.control,
        threads: flags.threads as usize,
        pin: flags.pin.clone().unwrap_or_default(),
        reply: Reply {
            status: flags.status,
            content_type: flags.content_type.clone(),
            body,
        },
        name,
        protocol: flags.protocol,
        certificate: certificate(flags),
    })
}

fn certificate(flags: &ServeFlags) -> Option<Certificate> {
    Some(Certificate {
        certificate: flags.certificate.clone()?,
        key: flags.key.clone()?,
    })
}

fn orders(flags: &DemandFlags) -> Orders {
    Orders {
        demand: Demand {
            delay: flags.delay,
            errors: flags.errors,
            error_status: flags.error_status,
            resets: flags.resets,
            closes: flags.closes,
            slow_body: flags.slow_body,
            workers: flags.workers,
            queue: flags.queue,
        },
        seed: flags.seed,
        sizes: flags.body_sizes.clone(),
        later: flags.later,
    }
}

fn carry_out<B: Behaviour>(options: &ServeOptions, behaviour: B) -> anyhow::Result<u8> {
    let interrupt = Interrupt::listen()?;
    let mut printed = Ok(());
    let mut announce = |address, control| {
        let text = format!("listening on {address}\ncounts on http://{control}/counts\n");
        printed = output::result(&text);
    };
    let counts = serve_with(options, behaviour, &mut announce, &interrupt.flag());
    let counts = counts.map_err(|error| match error {
        OriginError::Reply(_) | OriginError::Demand(_) | OriginError::Certificate(_) => {
            usage(error)
        }
        other => other.into(),
    })?;
    printed?;
    output::note(&format!("answered {} requests", counts.requests));
    Ok(exit::DONE)
}

/// Exit code 2: the arguments are wrong, not the machine.
fn usage(error: OriginError) -> anyhow::Error {
    exit::usage(format!("failed to {error}"))
}
