"""Results of benchmarks as tables, plots and pages."""
