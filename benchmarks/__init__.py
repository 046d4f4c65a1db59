"""What is measured, and against whom. Run with `make bench`, `make bench-peers`; see docs/benchmarks.md."""
