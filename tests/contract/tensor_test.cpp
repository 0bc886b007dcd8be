// Contract of access to a tensor's value.
#include "tensor/tensor.hpp"

#include <algorithm>
#include <type_traits>

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

template <class T>
constexpr bool is_like_a_number = requires(T a, T b) {
  a + b;
}
|| requires(T a, T b) { a < b; }
|| requires(T a) { a[0]; }
|| std::is_convertible_v<T, const void*> || std::is_convertible_v<T, bool>;
template <class T>
constexpr bool shows_its_storage = requires(T t) {
  t.storage_;
};
static_assert(!std::is_copy_constructible_v<Lease<float>> && std::is_move_constructible_v<Lease<float>>, "ACC-2");

Tensor four() { return Tensor::from<float>({1, 2, 3, 4}, {2, 2}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(tensor)

BOOST_AUTO_TEST_CASE(ACC_7_the_storage_cannot_be_reached_from_outside) {
  struct Open {
    int storage_;
  };
  BOOST_TEST(!shows_its_storage<Tensor>);
  BOOST_TEST(shows_its_storage<Open>, "the question can be answered with yes");
}

BOOST_AUTO_TEST_CASE(ACC_8_what_stands_for_a_resident_value_cannot_be_taken_for_a_number_or_an_address) {
  BOOST_TEST(!is_like_a_number<DeviceBuffer>);
  BOOST_TEST(is_like_a_number<int>, "the question can be answered with yes");
}

BOOST_AUTO_TEST_CASE(ACC_1_a_snapshot_keeps_the_old_bits_through_writes_and_the_tensors_death) {
  Snapshot<float> before = [] {
    Tensor x = four();
    Snapshot<float> snapshot = x.read<float>();
    x.write(std::vector<float>{5, 6, 7, 8});
    BOOST_TEST(x.read<float>()[0] == 5);
    auto lease = x.edit<float>();
    lease[0] = 9;
    lease.commit();
    std::fill_n(x.write_view<float>().data, 4, 77.0f);
    BOOST_TEST(x.read<float>()[3] == 77);
    return snapshot;
  }();
  BOOST_TEST(std::vector<float>(before.begin(), before.end()) == (std::vector<float>{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(ACC_1_reads_share_one_copy_until_the_value_changes) {
  Tensor x = four();
  const float* first = x.read<float>().data();
  auto held = x.read<float>();
  BOOST_TEST(held.data() == first);
  x.write(std::vector<float>{1, 2, 3, 4});
  BOOST_TEST(x.read<float>().data() != held.data());
}

BOOST_AUTO_TEST_CASE(ACC_2_an_edit_is_seen_at_its_commit_and_not_before) {
  Tensor x = four();
  {
    auto lease = x.edit<float>();
    lease[1] = 20;
    BOOST_TEST(x.read<float>()[1] == 2);
    lease.commit();
  }
  BOOST_TEST(x.read<float>()[1] == 20);
  {
    auto lease = x.edit<float>();
    lease[1] = 30;
    lease.discard();
  }
  {
    auto dropped = x.edit<float>();
    dropped[1] = 40;
  }
  BOOST_TEST(x.read<float>()[1] == 20);
  BOOST_TEST(x.version() == 2u);
}

BOOST_AUTO_TEST_CASE(ACC_2_a_second_open_lease_is_refused_also_through_a_view) {
  Tensor x = four();
  auto lease = x.edit<float>();
  check_refused([&] { auto second = x.edit<float>(); }, "ACC-2", "expected no open lease");
  check_refused([&] { auto second = x.transpose(0, 1).edit<float>(); }, "ACC-2", "[2, 2]");
  auto moved = std::move(lease);
  check_refused([&] { auto second = x.edit<float>(); }, "ACC-2");
  moved.commit();
  BOOST_CHECK_NO_THROW(x.edit<float>().discard());
}

BOOST_AUTO_TEST_CASE(ACC_2_a_tensor_without_a_value_gives_no_lease) {
  check_refused([] { auto lease = Tensor().edit<float>(); }, "ACC-9", "expected a tensor with a value");
}

BOOST_AUTO_TEST_CASE(ACC_3_a_write_installs_the_value_and_a_refused_one_nothing) {
  Tensor x = four();
  BOOST_TEST(x.read<float>()[2] == 3);  // from here on the host holds a copy of the old value
  x.write(std::vector<float>{5, 6, 7, 8});
  BOOST_TEST(x.read<float>()[2] == 7);
  check_refused([&] { x.write(std::vector<float>{1, 2, 3}); }, "ACC-4", "expected 4 elements, found 3");
  check_refused([&] { x.write(std::vector<double>{1, 2, 3, 4}); }, "ACC-4", "expected float32, found float64");
  BOOST_TEST(x.read<float>()[2] == 7);
  BOOST_TEST(x.version() == 2u);
}

BOOST_AUTO_TEST_CASE(ACC_3_a_write_through_a_view_reaches_its_elements_only) {
  Tensor x = Tensor::zeros({2, 3});
  x.transpose(0, 1).slice(0, 1, 3).write(std::vector<float>{1, 2, 3, 4});
  auto y = x.read<float>();
  BOOST_TEST(std::vector<float>(y.begin(), y.end()) == (std::vector<float>{0, 1, 3, 0, 2, 4}));
}

BOOST_AUTO_TEST_CASE(ACC_4_shape_type_and_device_are_known_and_another_type_is_refused) {
  Tensor x = Tensor::from<std::int32_t>({1, 2}, {2}, reference_device);
  BOOST_TEST((x.shape() == Shape{2}));
  BOOST_TEST((x.dtype() == Dtype::int32));
  BOOST_TEST((x.device() == reference_device));
  BOOST_TEST((four().to(reference_device).dtype() == Dtype::float64));
  check_refused([&] { x.read<float>(); }, "ACC-4", "expected int32, found float32");
  check_refused([&] { auto lease = x.edit<double>(); }, "ACC-4", "expected int32, found float64");
  check_refused([&] { x.item(); }, "ACC-4", "expected one element, found [2]");
}

BOOST_AUTO_TEST_CASE(ACC_5_every_mutator_raises_the_version_by_one_and_is_read_back) {
  Tensor x = four();
  auto mutated = [&, version = x.version()](float first) mutable {
    BOOST_TEST(x.version() == ++version);
    BOOST_TEST(x.read<float>()[0] == first);
    BOOST_TEST(x.view<float>().data[0] == first);
  };
  x.write(std::vector<float>{5, 6, 7, 8});
  mutated(5);
  auto lease = x.edit<float>();
  lease[0] = 9;
  lease.commit();
  mutated(9);
  *x.write_view<float>().data = 11;
  mutated(11);
  x.slice(0, 0, 1).write(std::vector<float>{13, 14});
  mutated(13);
}

BOOST_AUTO_TEST_CASE(XFER_5_a_round_trip_to_the_reference_keeps_the_bits) {
  Tensor x = drawn({257}, 1);
  check_same_bits(x, x.to(reference_device).to(cpu), "round trip");
}

BOOST_AUTO_TEST_CASE(ACC_9_empty_shapes_work_and_are_not_the_same_as_no_value) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 3}})
    for (Device device : devices()) {
      Tensor x = Tensor::zeros(shape, device);
      BOOST_TEST(x.defined());
      BOOST_TEST(x.size() == 0);
      BOOST_TEST(doubles(x).empty());
      BOOST_TEST((x.to(cpu).shape() == shape));
      BOOST_TEST((x.transpose(0, -1).transpose(0, -1).shape() == shape));
      BOOST_TEST((x.reshape({0}).shape() == Shape{0}));
      with_type(x.dtype(), [&](auto zero) {
        x.write(std::vector<decltype(zero)>{});
        x.template edit<decltype(zero)>().commit();
      });
    }
  BOOST_TEST(!Tensor().defined());
  check_refused([] { Tensor().read<float>(); }, "ACC-9", "expected a tensor with a value, found one without");
  check_refused([] { Variable().value(); }, "ACC-9", "expected a variable with a value, found one without");
}

BOOST_AUTO_TEST_SUITE_END()
