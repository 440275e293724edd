//! Record to verdicts: can this be believed.
