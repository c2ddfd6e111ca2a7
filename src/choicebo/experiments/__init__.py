"""The evidence: problems, simulated choosers, oracles, and the experiments of the paper."""
