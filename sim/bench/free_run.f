bench_top.f
free_run.v
