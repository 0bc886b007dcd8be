// Two linear layers with an activation between them.
#include "nn/feed_forward.hpp"

#include "base/sabotage.hpp"

namespace assay {

FeedForward::FeedForward(std::int64_t width, std::int64_t hidden, Activation activation, const Random& random)
    : expand_(width, hidden, random["expand"]), project_(hidden, width, random["project"]), activation_(activation) {
  register_module("expand", expand_);
  register_module("project", project_);
}

Variable FeedForward::forward(const Variable& x) const {
  ForwardScope scope(*this);
  const bool linear = sabotaged("feed_forward_is_linear");
  return project_.forward(linear ? expand_.forward(x) : activated(activation_, expand_, x));
}

}  // namespace assay
