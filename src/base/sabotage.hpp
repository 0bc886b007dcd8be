// Saboteurs: deliberate breaks, one for each promise, that show that the promise's test can fail.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace assay {

/// A break that a test build can switch on: which contract ids must then go red, and what it breaks.
struct Saboteur {
  std::string_view name, ids, breaks;
};

inline constexpr Saboteur saboteurs[] = {
    {"snapshot_not_kept", "ACC-1", "each read downloads again"},
    {"snapshot_shares_memory", "ACC-1 RES-5", "a write changes the snapshots of before"},
    {"stale_mirror", "ACC-1 ACC-3 ACC-5 ACC-6", "a read serves the copy of before a write"},
    {"lease_discard_commits", "ACC-2", "discarding a lease installs what it holds"},
    {"lease_not_counted", "ACC-2", "a lease that ends without commit or discard is not noticed"},
    {"second_lease_allowed", "ACC-2", "a tensor can be leased twice"},
    {"any_element_type", "ACC-4", "a value is read as elements of another type"},
    {"item_of_many", "ACC-4", "a tensor of several elements is taken for a number"},
    {"slice_beyond_the_end", "ACC-4", "a slice may end behind its axis"},
    {"version_stays", "ACC-5", "a write does not raise the version"},
    {"empty_is_undefined", "ACC-9", "a tensor without elements counts as one without a value"},
    {"count_access_forgets", "ACC-10", "downloads are not counted by call site"},
    {"gradcheck_perturbs_nothing", "CHECK-1 CHECK-3", "the perturbed value is not committed"},
    {"gradcheck_ignores_movement", "CHECK-2 CHECK-3", "the loss need not move"},
    {"gradcheck_takes_zeros", "CHECK-2", "a gradient of zeros is taken for a checked one"},
    {"gradcheck_trusts_its_list", "CHECK-2 CHECK-6", "elements listed as zero are not looked at"},
    {"gradcheck_compares_nothing", "CHECK-4", "analytic and numeric gradients are not compared"},
    {"changed_operands_are_used", "CHECK-5 CKPT-3 GRAPH-5", "operands are not compared with what they were"},
    {"gradcheck_keeps_its_draws", "CHECK-5", "the draws of a check are not taken back"},
    {"gradcheck_keeps_its_gradient", "CHECK-5", "the gradient from before a check is not put back"},
    {"gradcheck_keeps_its_value", "CHECK-5", "the value from before a check is not put back"},
    {"embedding_first_use_is_lost", "CHECK-6", "the first id contributes nothing to the gradient of a table"},
    {"gradcheck_counts_writes", "CHECK-7", "a check perturbs more where the value was written before"},
    {"consumers_in_order_of_use", "CKPT-1 GRAPH-2", "consumers contribute in the order in which the pass meets them"},
    {"segment_is_not_checkpointed", "CKPT-1 CKPT-7", "a segment is part of the plain graph"},
    {"segment_is_replayed_twice", "CKPT-1", "a backward pass computes a checkpointed segment twice"},
    {"captures_are_not_refused", "CKPT-2", "a checkpointed segment uses variables that it did not declare"},
    {"dependency_twice", "CKPT-2", "a dependency of a checkpointed segment may be named twice"},
    {"refused_segment_keeps_its_draws", "CKPT-2", "the draws of a refused segment are not taken back"},
    {"gradients_before_success", "CKPT-4 GRAPH-3 VJP-2 VJP-3",
     "a leaf gets its gradient before the pass has succeeded"},
    {"replay_of_any_shape", "CKPT-4", "the shape of a replayed result is not compared"},
    {"replay_uses_other_dependencies", "CKPT-4", "the dependencies that a replay uses are not compared"},
    {"gradient_once_per_reference", "CKPT-5 GRAPH-2 GRAPH-10 OPT-11 VJP-4",
     "a leaf used twice gets the contribution of one use"},
    {"replay_draws_anew", "CKPT-6", "a replay gets the next draw of the stream"},
    {"replay_moves_the_stream", "CKPT-6", "a replay counts as a draw"},
    {"scalar_seeds_2", "GRAPH-1", "backward of a scalar begins with 2"},
    {"seed_of_any_kind", "GRAPH-1", "the shape and device of a seed are not checked"},
    {"first_contribution_is_added_to_0", "GRAPH-2", "the first contribution is added to +0"},
    {"accumulation_forgets", "GRAPH-4", "a backward pass replaces the pending gradient"},
    {"gradients_share_memory", "GRAPH-4", "two leaves may hold one gradient tensor"},
    {"unreached_leaf_gets_zeros", "GRAPH-6", "a leaf that the result does not depend on gets a gradient"},
    {"data_costs_a_gradient", "GRAPH-7", "rules compute the gradients of data too"},
    {"destruction_recurses", "GRAPH-8", "a graph is destroyed one call inside the other"},
    {"scopes_are_for_all_threads", "GRAPH-9", "a scope holds for other threads too"},
    {"scopes_do_not_nest", "GRAPH-9", "the end of an inner scope ends the outer one"},
    {"scopes_do_not_restore", "GRAPH-9", "the end of a scope changes nothing back"},
    {"broadcast_gradient_is_lost", "GRAPH-11", "the gradient of a stretched operand is zeros"},
    {"strides_are_ignored", "GRAPH-12", "strided operands are read as if they were contiguous"},
    {"mixed_devices_pass", "GRAPH-13", "operands on two devices are not refused"},
    {"anomaly_check_forgets_backward", "GRAPH-14", "gradients are not checked for anomalies"},
    {"anomaly_check_is_blind", "GRAPH-14", "the anomaly check finds nothing"},
    {"linear_allocates_more", "LAYER-1", "a forward allocates a second tensor"},
    {"linear_always_has_a_bias", "LAYER-1", "a layer that shall have no bias has one"},
    {"linear_takes_any_width", "LAYER-1", "a layer of width 0 is made"},
    {"fan_in_is_fan_out", "LAYER-2", "initial values are scaled by the number of outputs"},
    {"linear_bias_not_zero", "LAYER-2", "a bias starts at 1"},
    {"uniform_off_centre", "LAYER-2", "uniform values have a mean above 0"},
    {"ignored_rows_count", "LAYER-3", "the mean of cross entropy is over ignored rows too"},
    {"moving_copies", "LIFE-1", "moving a parameter makes another one of the same value"},
    {"handles_do_not_own", "LIFE-2 LIFE-5 LIFE-6", "a handle does not keep its parameter alive"},
    {"handles_of_copies", "LIFE-3 LIFE-5", "every handle is of a parameter of its own"},
    {"bound_wrappers_take_another_state", "LIFE-4", "registered parameters and those of handles can be assigned"},
    {"handles_are_emptied", "LIFE-4", "moving from a handle's parameter empties the handle"},
    {"registered_wrappers_are_emptied", "LIFE-4", "moving from a registered parameter leaves nothing there"},
    {"set_value_keeps_the_gradient", "LIFE-7", "the gradient of the old value stays pending"},
    {"set_value_reads_what_it_writes", "LIFE-7", "a view of the value is read while it is written"},
    {"set_value_replaces_the_tensor", "LIFE-7", "a value is put in place of the tensor instead of written into it"},
    {"zero_gradient_writes_the_value", "LIFE-8", "dropping a gradient counts as a write to the value"},
    {"zeros_are_not_pending", "LIFE-9", "a gradient that begins with zero does not count as pending"},
    {"born_as_data", "LIFE-10", "a new parameter gathers no gradient"},
    {"update_is_recorded", "LIFE-10", "a new value is an operation on the old one"},
    {"freezing_replaces_the_leaf", "LIFE-11", "graphs from before a freeze lose their leaf"},
    {"frozen_data_stays_behind", "LIFE-11", "moving a frozen parameter leaves what graphs take where it was"},
    {"frozen_for_ever", "LIFE-11", "unfreezing changes nothing"},
    {"frozen_gathers_gradients", "LIFE-11", "graphs compute gradients of frozen parameters"},
    {"frozen_is_not_listed", "LIFE-11", "a frozen parameter is missing from the list"},
    {"evaluation_outlives_its_scope", "MODE-1", "a thread evaluates on after the scope has ended"},
    {"workers_train", "MODE-1", "the workers of a parallel loop train while their caller evaluates"},
    {"dropout_drops_in_evaluation", "MODE-2 MODE-3", "dropout drops while evaluating"},
    {"evaluation_draws", "MODE-2", "evaluating moves a random stream on"},
    {"dropout_loses_the_mean", "MODE-3", "kept elements are not scaled"},
    {"dropout_takes_any_p", "MODE-3", "p outside [0, 1) is accepted"},
    {"masks_from_row_0", "NUM-11", "dropout numbers the rows of every shard from 0"},
    {"lists_unchecked", "OPT-1", "a parameter list is not validated"},
    {"optimiser_spread_over_devices", "OPT-1", "an optimiser takes parameters of several devices"},
    {"optimiser_takes_nan", "OPT-1", "an optimiser takes values that are not finite"},
    {"adamw_decays_coupled", "OPT-2", "AdamW adds the decay to the gradient"},
    {"groups_share_settings", "OPT-2", "every group uses the settings of the first"},
    {"hyperparameters_unchecked", "OPT-2", "a hyperparameter outside its range is accepted"},
    {"step_does_not_look", "OPT-3 OPT-5", "a step writes results that are not finite"},
    {"step_writes_as_it_looks", "OPT-3", "a step writes tensors before it has looked at all of them"},
    {"step_drops_gradients", "OPT-4", "a step zeroes the gradients"},
    {"step_without_gradient", "OPT-4", "a parameter without a pending gradient is updated"},
    {"refused_step_counts", "OPT-5", "a refused step raises the step count"},
    {"clip_at_equality", "OPT-6", "gradients are scaled at a norm equal to the limit"},
    {"clip_takes_any_limit", "OPT-6", "a limit that is no positive number is accepted"},
    {"norm_in_binary32", "OPT-6", "the squares of a gradient are kept in binary32"},
    {"norm_takes_nan", "OPT-6", "the norm of a gradient that is not finite is computed"},
    {"load_writes_as_it_looks", "OPT-7", "a load writes tensors before it has looked at all of them"},
    {"state_unchecked", "OPT-7", "a state that does not fit is loaded"},
    {"pages_overlap", "OPT-8", "every page updates the first rows"},
    {"schedule_misses_its_end", "OPT-9", "a cosine ends before the lowest rate"},
    {"schedule_misses_its_peak", "OPT-9", "a cycle computes its peak instead of hitting it"},
    {"schedule_takes_any_option", "OPT-9", "a schedule's options are not validated"},
    {"optimiser_holds_nothing", "OPT-10", "an optimiser drops its parameters"},
    {"update_twice", "OPT-11", "a step updates every parameter twice"},
    {"listed_by_name", "ORD-1 ORD-5 ORD-8", "parameters are listed in the order of their names"},
    {"modules_die_inside_one_another", "ORD-1", "a module is destroyed inside the destructor of its parent"},
    {"names_are_last_segments", "ORD-2 ORD-8", "a name is the last segment of the path"},
    {"every_second_list_is_reversed", "ORD-3", "two calls list parameters differently"},
    {"walk_trusts_the_tree", "ORD-4", "a walk does not look whether a child still belongs to its parent"},
    {"listed_by_address", "ORD-5", "parameters are listed in the order of their addresses"},
    {"count_wraps", "ORD-6", "the number of scalars overflows silently"},
    {"names_of_any_form", "REG-3", "a name may be empty or have a dot"},
    {"names_are_used_twice", "REG-4", "a name can be registered again"},
    {"parameters_are_registered_twice", "REG-5 REG-6", "a parameter of the tree can be registered again"},
    {"cycles_are_not_looked_for", "REG-7", "a module above is not recognised as one"},
    {"modules_of_two_parents", "REG-8 REG-14 REG-18", "an attached module can be registered again"},
    {"children_share_parameters", "REG-9", "a child may bring a parameter that the tree has"},
    {"attached_modules_stay_open", "REG-10 REG-17", "an attached module takes registrations"},
    {"refused_children_are_sealed", "REG-11", "a refused child counts as attached"},
    {"refused_parameters_are_marked", "REG-11", "a refused parameter counts as registered"},
    {"dead_children_are_passed_over", "REG-12", "a walk passes over a child that was destroyed"},
    {"deactivated_stays_listed", "REG-13", "a deactivated parameter stays in the list"},
    {"deactivation_moves_the_slot", "REG-13", "a deactivated parameter loses its place"},
    {"frozen_is_deactivated", "REG-13", "a frozen parameter can be deactivated"},
    {"graphs_are_not_counted", "REG-13", "a parameter that a graph or variable uses can be deactivated"},
    {"handles_are_not_counted", "REG-13", "a parameter that a handle holds can be deactivated"},
    {"tensors_are_not_counted", "REG-13", "a parameter whose value somebody holds can be deactivated"},
    {"lists_count_from_1", "REG-14", "the first child of a list is called 1"},
    {"lists_take_null", "REG-14", "a list does not look for nulls"},
    {"ties_are_listed", "REG-15", "a tied parameter is listed where it is used too"},
    {"ties_need_no_owner", "REG-15", "a tie without an owner in the tree is recorded"},
    {"children_are_never_owned", "REG-18", "registering a shared child does not share it"},
    {"copy_by_position", "REPL-1", "replicas are matched by place instead of name"},
    {"copy_ignores_extra_names", "REPL-1", "a parameter that only the source has is passed over"},
    {"copy_writes_as_it_looks", "REPL-1", "replicas are written before all parameters were looked at"},
    {"shards_added_in_a_row", "REPL-2 NUM-11", "the sum over shards is a chain instead of a tree"},
    {"host_reads_device_memory", "RES-1", "device pointers of the simulated device can be followed"},
    {"generations_ignored", "RES-2 RES-8", "a buffer whose memory was taken back is used all the same"},
    {"liveness_by_the_wrong_pool", "RES-3 RES-8", "a buffer of a pass is judged by the persistent pool's generation"},
    {"producer_counts_twice", "RES-4", "an operation is recorded as run twice"},
    {"failed_launch_counts_as_written", "RES-6", "the version rises before the launch has succeeded"},
    {"masks_of_each_device", "RES-7", "dropout draws another mask on the simulated device"},
    {"gradient_dies_with_its_pass", "RES-8", "a gradient stays in the pass that computed it"},
    {"inner_pass_frees", "RES-8", "an inner pass frees what the outer one holds"},
    {"outside_counts_as_a_pass", "RES-9", "a thread that had a pass allocates from its pool also between passes"},
    {"freed_memory_is_lost", "RES-10 XFER-10", "memory that nobody holds is not given back"},
    {"positions_exchanged", "VJP-1", "results of a gradient rule go to positions in reverse"},
    {"rule_gives_any_count", "VJP-2", "the count of a rule's results is not checked"},
    {"rule_gives_any_kind", "VJP-2", "shape, type and device of a rule's results are not checked"},
    {"empty_rule_is_taken", "VJP-5", "an operation may have no rule or no inputs"},
    {"rule_is_kept", "VJP-6", "an operation on data keeps its rule"},
    {"replaced_values_keep_the_gradient", "XFER-1", "a moved parameter keeps its pending gradient"},
    {"transfer_commits_as_it_prepares", "XFER-2 XFER-6 XFER-7 XFER-11", "a transfer puts values in place one by one"},
    {"transfer_moves_what_is_there", "XFER-3", "a transfer puts a copy in place of a value that is there already"},
    {"successors_keep_the_version", "XFER-4", "a value that takes another's place has the same version"},
    {"transfer_by_way_of_float64", "XFER-5", "a transfer widens each value and rounds it back"},
    {"extra_parameters_are_not_checked", "XFER-6", "extra parameters may share a name or have none"},
    {"only_the_root_has_extra_parameters", "XFER-6", "modules below are not asked for extra parameters"},
    {"buffers_stay", "XFER-7", "state that is no parameter stays where it is"},
    {"only_the_root_stages", "XFER-7", "modules below do not stage their state"},
    {"any_device_name", "XFER-8", "every name is taken for a device"},
    {"step_across_devices", "XFER-9", "a step does not look where its parameters are"},
    {"transfer_forgets_the_state", "XFER-9", "moving an optimiser clears its state"},
    {"transfer_takes_any_list", "XFER-11", "a transfer does not validate its list"},
};

/// Promises about the source itself: tests/compile_fail breaks them in sources that must not build, or their test reads
/// the sources of the library.
inline constexpr std::string_view kept_by_the_source = "ACC-7 ACC-8 REG-1 REG-2 REG-16 RES-11 VJP-7";

/// A name of the list above, checked when the site is compiled.
class SabotageSite {
 public:
  consteval SabotageSite(const char* name) : number_(0) {  // NOLINT: a site is written as its name
    while (saboteurs[number_].name != name) ++number_;     // past the end: no such saboteur, does not compile
  }
  constexpr std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

#ifdef ASSAY_SABOTAGE
/// Whether this saboteur is at work: the one that the environment variable ASSAY_SABOTEUR names.
///
///     if (!sabotaged("accumulation_forgets")) total = kernels::add(gradient, total);
bool sabotaged(SabotageSite site);
#else
constexpr bool sabotaged(SabotageSite) { return false; }
#endif

}  // namespace assay
