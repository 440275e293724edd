//! How precise the comparisons of a campaign are, for a rule that adds rounds until they are.

use bakeoff_audit::{Comparison, Evidence, judge};
use bakeoff_record::Record;

/// How far the widest interval of any tested comparison reaches to either side, as a share (0.03
/// is 3 %); `None` where nothing is tested. What is shown without a test has no say.
pub fn widest(record: &Record) -> Option<f64> {
    let judged = judge(record);
    let tested = |one: &&Comparison| matches!(one.evidence, Evidence::Test | Evidence::Pooled);
    let ratios = judged.comparisons.iter().filter(tested);
    let reach = ratios.filter_map(|one| {
        let ratio = one.ratio?;
        let reach = ((ratio.high / ratio.low).ln() / 2.0).exp_m1();
        reach.is_finite().then_some(reach)
    });
    reach.reduce(f64::max)
}
