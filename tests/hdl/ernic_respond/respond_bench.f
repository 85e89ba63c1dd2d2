../../../hdl/ernic/ernic_receive.f
../../../hdl/ernic/ernic_dispatch.v
../../../hdl/ernic/ernic_receive_writer.f
../../../hdl/ernic/ernic_respond.f
respond_bench.v
