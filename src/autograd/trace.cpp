// The scopes of a trace.
#include "autograd/trace.hpp"

#include <utility>

namespace assay {
namespace {

thread_local TraceScope* innermost = nullptr;
thread_local const ModuleNameScope* innermost_module = nullptr;

}  // namespace

TraceScope::TraceScope(TraceObserver observer)
    : observer_(std::move(observer)), outer_(std::exchange(innermost, this)) {}
TraceScope::~TraceScope() { innermost = outer_; }
bool TraceScope::active() { return innermost != nullptr; }
void TraceScope::tell(const TracedResult& result) {
  if (innermost) innermost->observer_(result);
}

ModuleNameScope::ModuleNameScope(std::string path)
    : path_(std::move(path)), outer_(std::exchange(innermost_module, this)) {}
ModuleNameScope::~ModuleNameScope() { innermost_module = outer_; }
const std::string& ModuleNameScope::current() {
  static const std::string none;
  return innermost_module ? innermost_module->path_ : none;
}

}  // namespace assay
