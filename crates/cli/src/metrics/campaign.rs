//! The metrics of a campaign, from the events that its display hears.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bakeoff_conduct::Event;
use bakeoff_record::TrialEnd;
use bakeoff_report::{LiveCampaign, LiveTrial, live_campaign};

use super::{Endpoint, Serving, Source};
use crate::display::step_name;

/// Time over which a rate is taken, at the least.
const RATE_OVER: Duration = Duration::from_secs(1);

/// The metrics of a campaign that runs.
pub(crate) struct CampaignMetrics {
    shared: Arc<Mutex<LiveCampaign>>,
    /// Right answers, and the time in which they came, since the rate was last set.
    recent: (u64, Duration),
    _serving: Serving,
}

impl CampaignMetrics {
    /// Serves them until they are dropped.
    pub(crate) fn serve(endpoint: Endpoint) -> anyhow::Result<Self> {
        let shared = Arc::new(Mutex::new(LiveCampaign::default()));
        let page = Page {
            shared: shared.clone(),
        };
        Ok(Self {
            shared,
            recent: (0, Duration::ZERO),
            _serving: endpoint.serve(page)?,
        })
    }

    /// Takes in what happened.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        let mut live = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Began {
                trials,
                recorded,
                expected,
                may_add: _,
            } => {
                live.trials_planned = *trials as u64;
                live.trials_ended = *recorded as u64;
                live.left_s = expected.as_secs_f64();
            }
            Event::Trial {
                number,
                trials,
                id,
                what: (contender, workload),
                left,
            } => {
                live.trials_planned = *trials as u64;
                live.trials_ended = (*number as u64).saturating_sub(1);
                live.left_s = left.as_secs_f64();
                live.trial = Some(LiveTrial {
                    id: (*id).to_owned(),
                    contender: (*contender).to_owned(),
                    workload: (*workload).to_owned(),
                    step: "",
                });
            }
            Event::Step(step) => {
                if let Some(trial) = &mut live.trial {
                    trial.step = step_name(*step);
                }
                live.ok_per_s = None;
                self.recent = (0, Duration::ZERO);
            }
            Event::Live { ok, errors, since } => {
                live.ended.0 += ok;
                live.ended.1 += errors;
                live.left_s = (live.left_s - since.as_secs_f64()).max(0.0);
                self.recent.0 += ok;
                self.recent.1 += *since;
                if self.recent.1 >= RATE_OVER {
                    live.ok_per_s = Some(self.recent.0 as f64 / self.recent.1.as_secs_f64());
                    self.recent = (0, Duration::ZERO);
                }
            }
            Event::Ended(record) => {
                // One that was interrupted is begun again, or never ends.
                live.trials_ended += u64::from(record.end != TrialEnd::Interrupted);
                live.trial = None;
                live.ok_per_s = None;
                if let Some(result) = &record.result {
                    live.outcomes.merge(&result.outcomes);
                }
            }
            Event::Observed(_) | Event::BlockEnded => {}
        }
    }
}

struct Page {
    shared: Arc<Mutex<LiveCampaign>>,
}

impl Source for Page {
    fn tick(&mut self, _now: Instant) {}

    fn page(&mut self) -> String {
        let live = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        live_campaign(&live)
    }
}
