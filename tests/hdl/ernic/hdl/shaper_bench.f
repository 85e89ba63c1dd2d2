../../../../hdl/ernic/ernic_shaper.f
shaper_bench.v
