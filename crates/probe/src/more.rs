//! What the kernel reports of the whole machine besides its processors' time.

use std::path::Path;

use bakeoff_record::{HostTick, NetCounts, Pressure, Softnet};

use crate::file::{self, KeptFile};
use crate::interfaces::Net;
use crate::limits::{self, Counter};
use crate::{kernel, parse};

/// Readings between two of what changes slowly or costs more.
const SLOW_EVERY: u64 = 5;
/// Readings between two of the processors' frequencies: the kernel may have to ask each of them.
const FREQUENCY_EVERY: u64 = 10;
/// Processors whose frequency is read.
const FREQUENCIES_MAX: usize = 64;

/// Files that are read, and where their counters stood at the start.
#[derive(Debug)]
pub(crate) struct More {
    load: Option<KeptFile>,
    memory: Option<KeptFile>,
    pressure: [Option<KeptFile>; 3],
    softnet: Option<KeptFile>,
    net: Option<Net>,
    conntrack: Option<KeptFile>,
    frequencies: Vec<KeptFile>,
    quotas: Vec<Counter>,
    base_pressure: Pressure,
    base_softnet: Option<Softnet>,
    base_net: NetCounts,
}

impl More {
    /// Opens what there is. `groups` are control groups (version 2) of the trees; with `network`
    /// what crosses the interfaces is read, too.
    pub(crate) fn new<'p>(
        groups: impl Iterator<Item = &'p Path>,
        network: bool,
        buffer: &mut Vec<u8>,
    ) -> Self {
        let open = |path: &str| KeptFile::open(path).ok();
        let mut more = Self {
            load: open("/proc/loadavg"),
            memory: open("/proc/meminfo"),
            pressure: ["cpu", "memory", "io"].map(|name| open(&format!("/proc/pressure/{name}"))),
            softnet: open("/proc/self/net/softnet_stat"),
            net: network.then(|| Net::new(buffer)).flatten(),
            conntrack: open("/proc/sys/net/netfilter/nf_conntrack_count"),
            frequencies: frequencies(),
            quotas: quotas(groups, buffer),
            base_pressure: Pressure::default(),
            base_softnet: None,
            base_net: NetCounts::default(),
        };
        more.base_pressure = more.read_pressure(buffer).unwrap_or_default();
        more.base_net = more.read_net(buffer).unwrap_or_default();
        more.base_softnet = read(more.softnet.as_ref(), buffer, kernel::softnet);
        more
    }

    /// A reading, without time and processors; what is not due at this one is `None`.
    pub(crate) fn read(&self, index: u64, buffer: &mut Vec<u8>) -> HostTick {
        let net = self.read_net(buffer);
        let mut tick = HostTick {
            throttled_us: self.throttled_us(buffer),
            net: net.map(|now| now.since(self.base_net)),
            ..HostTick::default()
        };
        if index.is_multiple_of(FREQUENCY_EVERY) {
            tick.frequency_mhz = self.frequency_mhz(buffer);
        }
        if !index.is_multiple_of(SLOW_EVERY) {
            return tick;
        }
        tick.load_average_1m = read(self.load.as_ref(), buffer, kernel::load_average);
        tick.memory_available_bytes = read(self.memory.as_ref(), buffer, |text| {
            parse::kibibytes(text, b"MemAvailable:")
        });
        tick.conntrack = read(self.conntrack.as_ref(), buffer, |text| {
            parse::number(text.trim_ascii())
        });
        tick.pressure = self.read_pressure(buffer).map(|now| {
            let base = self.base_pressure;
            let since = |now: Option<u64>, base| Some(now?.saturating_sub(base?));
            Pressure {
                cpu_us: since(now.cpu_us, base.cpu_us),
                memory_us: since(now.memory_us, base.memory_us),
                io_us: since(now.io_us, base.io_us),
            }
        });
        let softnet = read(self.softnet.as_ref(), buffer, kernel::softnet);
        tick.softnet = softnet.zip(self.base_softnet).map(|(now, base)| Softnet {
            dropped: now.dropped.saturating_sub(base.dropped),
            squeezed: now.squeezed.saturating_sub(base.squeezed),
        });
        tick
    }

    fn read_net(&self, buffer: &mut Vec<u8>) -> Option<NetCounts> {
        self.net.as_ref()?.read(buffer)
    }

    fn read_pressure(&self, buffer: &mut Vec<u8>) -> Option<Pressure> {
        let [cpu_us, memory_us, io_us] = self
            .pressure
            .each_ref()
            .map(|one| read(one.as_ref(), buffer, kernel::pressure_us));
        let any = cpu_us.or(memory_us).or(io_us).is_some();
        any.then_some(Pressure {
            cpu_us,
            memory_us,
            io_us,
        })
    }

    /// Of nested groups the one that was held back longest.
    fn throttled_us(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        limits::most(&self.quotas, buffer)
    }

    fn frequency_mhz(&self, buffer: &mut Vec<u8>) -> Option<f64> {
        let kilohertz = self
            .frequencies
            .iter()
            .filter_map(|one| parse::number::<u32>(one.read(buffer)?.trim_ascii()));
        let (sum, count) = kilohertz.fold((0.0, 0_u32), |(sum, count), khz| {
            (sum + f64::from(khz), count + 1)
        });
        (count > 0).then(|| sum / f64::from(count) / 1000.0)
    }
}

fn read<T>(
    file: Option<&KeptFile>,
    buffer: &mut Vec<u8>,
    value: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    value(file?.read(buffer)?)
}

fn frequencies() -> Vec<KeptFile> {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    (0..FREQUENCIES_MAX)
        .filter_map(|cpu| KeptFile::open(path(cpu)).ok())
        .collect()
}

/// The groups that bakeoff runs in, and those of the trees with the ones above them.
fn quotas<'p>(groups: impl Iterator<Item = &'p Path>, buffer: &mut Vec<u8>) -> Vec<Counter> {
    let root = Path::new(kernel::CONTROL_GROUPS);
    let text = file::read("/proc/self/cgroup", buffer).unwrap_or_default();
    let own = kernel::groups_with_quota(text)
        .into_iter()
        .map(|below| root.join(below));
    let mut folders: Vec<_> = own.collect();
    for group in groups {
        let inside = group
            .ancestors()
            .take_while(|folder| folder.starts_with(root));
        folders.extend(inside.map(Path::to_owned));
    }
    folders.sort();
    folders.dedup();
    let stats = folders.iter().map(|folder| folder.join("cpu.stat"));
    stats
        .filter_map(|stat| Counter::open(&stat, kernel::throttled_us, buffer))
        .collect()
}
