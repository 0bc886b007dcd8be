// Contract of data access: the lease, the versions of every writer, and the counts by call site.
#include <algorithm>

#include "autograd/ops.hpp"
#include "device/counters.hpp"
#include "kernels/scale.hpp"
#include "optim/replicas.hpp"
#include "optim/sgd.hpp"
#include "support/contract.hpp"
#include "support/observed.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(ACC_1_a_snapshot_keeps_its_bytes_and_one_download_serves_all_reads) {
  Tensor x = drawn({6}, 1, -1, 1, device);
  std::uint64_t downloads = device_counters(device).downloads;
  auto before = x.read<float>();
  x.read<float>();
  x.transpose(0, 0).read<float>();
  BOOST_TEST(device_counters(device).downloads == downloads + 1);
  float first = before[0];
  x.write(std::vector<float>{7, 7, 7, 7, 7, 7});
  BOOST_TEST(x.read<float>()[0] == 7);
  x.read<float>();
  BOOST_TEST(device_counters(device).downloads == downloads + 2);
  BOOST_TEST(before[0] == first);
  x = Tensor();
  BOOST_TEST(before[0] == first);
}

CONTRACT(ACC_2_nothing_is_seen_until_commit_and_a_discarded_lease_changes_nothing) {
  Tensor x = drawn({3}, 1, -1, 1, device);
  std::string before = bits_of(x);
  std::uint64_t version = x.version();
  {
    auto lease = x.edit<float>();
    lease[0] = 99;
    BOOST_TEST(bits_of(x) == before);
    lease.discard();
  }
  BOOST_TEST(bits_of(x) == before);
  BOOST_TEST(x.version() == version);
  auto lease = x.edit<float>();
  lease[0] = 99;
  lease.commit();
  BOOST_TEST(x.read<float>()[0] == 99);
  BOOST_TEST(x.version() == version + 1);
}

CONTRACT(ACC_2_a_lease_that_just_ends_is_counted_with_its_place) {
  Tensor x = drawn({3}, 1, -1, 1, device);
  std::size_t before = abandoned_leases().size();
  { auto lease = x.edit<float>(); }
  BOOST_REQUIRE(abandoned_leases().size() == before + 1);
  BOOST_TEST(abandoned_leases().back().find("access_test.cpp") != std::string::npos, abandoned_leases().back());
  try {
    auto lease = x.edit<float>();
    throw 1;
  } catch (int) {
  }
  BOOST_TEST(abandoned_leases().size() == before + 1, "an exception may end a lease");
  {
    auto again = x.edit<float>();
    again.discard();
  }
  BOOST_TEST(abandoned_leases().size() == before + 1);
}

CONTRACT(ACC_2_a_second_open_lease_is_refused) {
  Tensor x = drawn({3}, 1, -1, 1, device);
  auto lease = x.edit<float>();
  check_refused([&] { x.edit<float>().discard(); }, "ACC-2", "neither committed nor discarded");
  check_refused([&] { x.transpose(0, 0).edit<float>().discard(); }, "ACC-2");
  lease.discard();
  x.edit<float>().discard();
  check_refused([] { Tensor().edit<float>().discard(); }, "ACC-9");
}

CONTRACT(ACC_5_after_every_writer_all_readers_agree_and_the_version_rose_by_one) {
  Parameter parameter(drawn({2, 3}, 1, -1, 1, device));
  ParameterList list{{"parameter", parameter.handle()}};
  Sgd sgd(list, {});
  auto writer = [&](const char* what, double expected, auto&& write) {
    parameter.value().read<float>();  // a copy on the host that must not be served afterwards
    std::uint64_t version = parameter.value().version();
    write();
    const Tensor& value = parameter.value();
    BOOST_TEST(value.version() == version + 1, what << ": version " << version << " became " << value.version());
    BOOST_TEST(doubles(value)[0] == expected, what << ": a read gives " << doubles(value)[0]);
    BOOST_TEST(doubles(kernels::scale(value, 1))[0] == expected, what << ": an operation sees another value");
    Tensor fresh = Tensor::uninitialised(value.shape(), value.device());
    kernels::copy_into(value, fresh);
    BOOST_TEST(doubles(fresh)[0] == expected, what << ": a fresh buffer holds another value");
  };
  Tensor value = parameter.value();
  writer("write", 3, [&] { value.write(std::vector<float>{3, 1, 1, 1, 1, 1}); });
  writer("edit and commit", 4, [&] {
    auto lease = value.edit<float>();
    lease[0] = 4;
    lease.commit();
  });
  writer("copy", 2, [&] { kernels::copy_into(Tensor::full({2, 3}, 2, device), value); });
  writer("set_value", 5, [&] { parameter.set_value(Tensor::full({2, 3}, 5, device)); });
  writer("optimiser step", 4, [&] {
    parameter.set_gradient(Tensor::full({2, 3}, 1, device));
    sgd.step(1);
  });
  writer("replica copy", 6, [&] {
    Parameter source(Tensor::full({2, 3}, 6, device));
    copy_parameters({{"parameter", source.handle()}}, list);
  });
  parameter.set_value(Tensor::full({2, 3}, 4, device));
  Tensor velocity = sgd.state().tensors[0].tensor;
  OptimiserState state = sgd.state();
  sgd.load_state(state);
  BOOST_TEST(sgd.state().tensors[0].tensor.version() == velocity.version() + 1);
  writer("transfer", 4, [&] { move_parameters_to(list, device == cpu ? simulated : cpu); });
  writer("transfer back", 4, [&] { move_parameters_to(list, device); });
}

CONTRACT(ACC_6_an_operation_reads_the_device_and_a_read_the_value_now) {
  Tensor x = Tensor::full({5}, 1, device);
  BOOST_TEST(x.read<float>()[0] == 1);                  // the host's copy holds 1
  kernels::copy_into(Tensor::full({5}, 2, device), x);  // the device holds 2
  BOOST_TEST(doubles(kernels::add(x, x))[0] == 4);
  BOOST_TEST(x.read<float>()[0] == 2);
}

CONTRACT(ACC_9_an_empty_tensor_works_everywhere_and_no_value_is_refused_as_such) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}}) {
    Tensor x = Tensor::zeros(shape, device);
    BOOST_TEST(x.defined());
    BOOST_TEST(x.read<float>().size() == 0);
    Variable leaf = Variable::leaf(x);
    sum(multiply(leaf, leaf)).backward();
    BOOST_TEST(leaf.has_pending_gradient());
    BOOST_TEST((leaf.gradient().shape() == shape));
    BOOST_TEST((x.to(cpu).to(device).shape() == shape));
  }
  check_refused([] { Tensor().read<float>(); }, "ACC-9", "one without");
  check_refused([] { Tensor().keep(); }, "ACC-9", "one without");
  check_refused([] { Parameter empty{Tensor()}; }, "ACC-9", "one without");
}

CONTRACT(ACC_10_accesses_are_counted_by_the_place_that_asks) {
  Tensor x = drawn({5}, 1, -1, 1, device);
  AccessScope counts;
  for (int i = 0; i < 3; ++i) {
    x.read<float>();
    x.write(std::vector<float>(5));
  }
  kernels::add(x, x);
  auto rows = counts.rows();
  auto find = [&](Access access, const std::string& place) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const AccessRow& r) {
      return r.access == access && (r.file + r.function).find(place) != std::string::npos;
    });
    return row == rows.end() ? AccessRow{access, "", "", 0, 0, 0} : *row;
  };
  BOOST_TEST(find(Access::read, "access_test.cpp").count == 3u);
  BOOST_TEST(find(Access::write, "access_test.cpp").count == 3u);
  BOOST_TEST(find(Access::download, "access_test.cpp").bytes == 3u * 20);
  BOOST_TEST(find(Access::upload, "access_test.cpp").bytes == 3u * 20);
  BOOST_TEST(find(Access::launch, "add").count == 1u);
  BOOST_TEST(find(Access::allocation, "kernels").count == 1u);
}
