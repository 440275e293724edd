"""The parts of `perf/run.py`: the tool measured by itself, beside its peers."""
