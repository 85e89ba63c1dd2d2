ernic_bucket_step.v
ernic_shaper.v
