// The shard that this thread works on.
#include "nn/shard_scope.hpp"

#include <utility>

namespace assay {
namespace {

thread_local const ShardScope* innermost = nullptr;

}  // namespace

ShardScope::ShardScope(std::int64_t first_row, std::map<std::string, std::uint64_t>* mask_digests)
    : first_row_(first_row), mask_digests_(mask_digests), outer_(std::exchange(innermost, this)) {}

ShardScope::~ShardScope() { innermost = outer_; }

const ShardScope* ShardScope::current() { return innermost; }

}  // namespace assay
