#!/usr/bin/env python3
"""Writes scipy.json: what SciPy and ruptures say of the values in it.

    python3 -m venv venv && venv/bin/pip install scipy ruptures
    venv/bin/python crates/stats/tests/vectors/make.py > crates/stats/tests/vectors/scipy.json

The tests need neither: the vectors are stored.
"""
import itertools
import json

import numpy
import ruptures
import scipy
from scipy import stats

random = numpy.random.default_rng(2026)


def rounded(values):
    return [round(float(value), 6) for value in values]


def student():
    cases = []
    for degrees in (1, 2, 3, 5, 9, 16, 38, 240):
        for t in (-2.0, 0.0, 0.5, 1.7, 3.1, 6.5, 20.0):
            cases.append({"degrees": degrees, "t": t, "tail": stats.t.sf(t, degrees)})
    points = []
    for degrees in (1, 2, 4, 9, 19, 47):
        for tail in (0.25, 0.025, 0.05 / 48, 0.05 / 480):
            points.append({"degrees": degrees, "tail": tail, "t": stats.t.isf(tail, degrees)})
    return {"tails": cases, "points": points}


def walsh():
    cases = []
    for n in (6, 7, 10, 13, 20):
        values = rounded(random.normal(0.05, 0.1, n))
        averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
        # The ends: the shifts at which the exact two-sided test stops rejecting.
        kept = [a for a in averages
                if stats.wilcoxon([v - a - 1e-9 for v in values], method="exact").pvalue > 0.05
                or stats.wilcoxon([v - a + 1e-9 for v in values], method="exact").pvalue > 0.05]
        cases.append({"values": values, "point": float(numpy.median(averages)),
                      "low": kept[0], "high": kept[-1]})
    return cases


def medians():
    cases = []
    for n in (6, 9, 12, 20):
        values = rounded(random.lognormal(3, 0.3, n))
        interval = stats.quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
        cases.append({"values": values, "point": float(numpy.median(values)),
                      "low": float(interval.low), "high": float(interval.high)})
    return cases


def neighbours():
    cases = []
    for n in (8, 10, 20):
        values = rounded(numpy.cumsum(random.normal(0, 1, n)))
        cases.append({"values": values,
                      "correlation": float(stats.spearmanr(values[:-1], values[1:]).statistic)})
    tied = [1.0, 2.0, 2.0, 3.0, 1.0, 2.0, 3.0, 3.0, 1.0, 1.0]
    cases.append({"values": tied,
                  "correlation": float(stats.spearmanr(tied[:-1], tied[1:]).statistic)})
    return cases


def discoveries():
    cases = []
    for n in (1, 5, 24):
        chances = rounded(random.uniform(0, 1, n) ** 3)
        cases.append({"chances": chances,
                      "corrected": [float(p) for p in stats.false_discovery_control(chances)]})
    return cases


def changes():
    """PELT with a normal cost of mean and variance, by ruptures."""
    cases = []
    for levels in ([(30, 1, 0.05)], [(12, 1, 0.05), (28, 2, 0.05)],
                   [(20, 1, 0.02), (15, 1.5, 0.1), (25, 0.8, 0.03)],
                   [(40, 1, 0.02), (40, 1, 0.3)]):
        series = rounded(numpy.concatenate([random.normal(m, s, n) for n, m, s in levels]))
        array = numpy.array(series).reshape(-1, 1)
        cost = ruptures.costs.CostNormal(add_small_diag=False)
        found = ruptures.Pelt(custom_cost=cost, min_size=3, jump=1).fit(array)
        cut = found.predict(pen=15 * numpy.log(len(series)))
        cases.append({"series": series, "changes": [int(one) for one in cut[:-1]]})
    return cases


print(json.dumps({
    "source": f"scipy {scipy.__version__}, numpy {numpy.__version__}, "
              f"ruptures {ruptures.__version__}",
    "student": student(), "walsh": walsh(), "medians": medians(),
    "neighbours": neighbours(), "discoveries": discoveries(), "changes": changes(),
}, indent=1))
