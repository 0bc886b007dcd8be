// The table of all configuration keys, and the manual that is made of it.
#include "harness/configuration_keys.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace assay {
namespace {

using Allowed = ConfigurationKey::Allowed;
using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
using Strings = std::map<std::string, std::string>;

constexpr double infinity = std::numeric_limits<double>::infinity();

Allowed at_least(double low) { return {.low = low}; }
Allowed more_than(double low) { return {.low = low, .without_low = true}; }
Allowed from_to(double low, double high) { return {.low = low, .high = high}; }
Allowed from_below(double low, double high) { return {.low = low, .high = high, .without_high = true}; }
Allowed one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }

std::string number_text(double x) {
  std::ostringstream text;
  text.precision(15);
  text << x;
  return text.str();
}

}  // namespace

std::string ConfigurationKey::expected() const {
  std::string range;
  if (allowed.low > -infinity && allowed.high < infinity)
    range = std::string(" in ") + (allowed.without_low ? "(" : "[") + number_text(allowed.low) + ", " +
            number_text(allowed.high) + (allowed.without_high ? ")" : "]");
  else if (allowed.low > -infinity)
    range = (allowed.without_low ? " > " : " >= ") + number_text(allowed.low);
  std::string choices;
  for (const std::string& choice : allowed.choices) choices += (choices.empty() ? "" : ", ") + choice;
  return std::visit(
      Overloaded{[](bool*) { return std::string("true or false"); },
                 [&](std::int64_t*) { return "an integer" + range; }, [&](double*) { return "a number" + range; },
                 [&](std::string*) {
                   if (choices.empty()) return std::string("a string");
                   return allowed.choices.size() == 1 ? "\"" + choices + "\"" : "one of " + choices;
                 },
                 [&](Integers*) { return "a list of integers" + range; },
                 [](Names*) { return std::string("a list of strings"); },
                 [](Strings*) { return std::string("a table of SHA-256 digests (64 lower-case digits)"); }},
      field);
}

std::vector<ConfigurationKey> configuration_keys(Configuration& c) {
  return {
      {"experiment.name", &c.experiment.name, {}, "What reports call the run."},
      {"experiment.seed", &c.experiment.seed, at_least(0), "Seed of initial values, data order and dropout."},

      {"data.kind", &c.data.kind, one_of({"fashion_mnist", "idx", "synthetic", "text", "bible_kjv"}),
       "`idx` takes any four IDX files that are named like Fashion-MNIST's; `synthetic` needs no files; `text` takes "
       "the bytes of any file, `bible_kjv` the verses that Debian's package bible-kjv brings."},
      {"data.path", &c.data.path, {}, "Folder of the IDX files, plain or `.gz`; of `text`, the file."},
      {"data.context", &c.data.context, from_to(1, 1 << 16), "Of `text` and `bible_kjv`: bytes of one sample."},
      {"data.validation", &c.data.validation, at_least(0),
       "This many samples at the end of the training set are kept for validation; 0: none."},
      {"data.test", &c.data.test, at_least(1),
       "Of `text` and `bible_kjv`: this many samples at the end of the text are the test set."},
      {"data.limit", &c.data.limit, at_least(0),
       "Use only the first samples of the training and the test set; 0: all."},
      {"data.digests", &c.data.digests, {}, "SHA-256 that files must have, by file name; other files are not checked."},
      {"data.synthetic.samples", &c.data.synthetic.samples, from_to(1, 1 << 24), "Samples of each set."},
      {"data.synthetic.features", &c.data.synthetic.features, from_to(1, 1 << 16), "Values of one sample."},
      {"data.synthetic.classes", &c.data.synthetic.classes, from_to(1, 1 << 16), "Classes."},
      {"data.synthetic.noise", &c.data.synthetic.noise, from_to(0, 1e6), "Half the width of a class's box."},

      {"model.kind", &c.model.kind, one_of({"mlp", "decoder"}),
       "The architecture: `mlp` for values, `decoder`, a transformer, for tokens."},
      {"model.layers", &c.model.layers, from_to(1, 1 << 20),
       "Of `mlp`: widths from the input to the classes, at least two."},
      {"model.width", &c.model.width, from_to(1, 1 << 16), "Of `decoder`: values of one position."},
      {"model.heads", &c.model.heads, from_to(1, 1 << 16), "Of `decoder`: heads of attention, which divide the width."},
      {"model.blocks", &c.model.blocks, from_to(1, 1 << 12),
       "Of `decoder`: attention and feed-forward, so many times."},
      {"model.hidden", &c.model.hidden, from_to(1, 1 << 20), "Of `decoder`: width inside of a feed-forward layer."},
      {"model.tied", &c.model.tied, Allowed{}, "Of `decoder`: the head uses the table of token embeddings."},
      {"model.attention", &c.model.attention, one_of({"flash", "materialised"}),
       "Of `decoder`: whether exponentials are computed again for the gradient or kept; the bits are the same."},
      {"model.checkpointed", &c.model.checkpointed, Allowed{},
       "Of `decoder`: blocks are computed again in the backward pass; the bits are the same."},
      {"model.activation", &c.model.activation, one_of({"relu", "gelu", "tanh", "sigmoid"}),
       "Between two layers; of `decoder`, inside of feed-forward layers."},
      {"model.dropout", &c.model.dropout, from_below(0, 1),
       "Share of hidden values dropped while training; of `decoder`, of attention weights too."},
      {"model.perturbed",
       &c.model.perturbed,
       {},
       "For a null band: the parameter, or `all`, whose initial elements are each moved by one ULP, up or down at "
       "random; a zero to the smallest number or to the other zero. Empty: none."},
      {"model.base",
       &c.model.base,
       {},
       "What the initial values are read from instead of drawn: a run, of which the newest checkpoint is taken, a "
       "checkpoint, or a `.safetensors` file with this project's names or GPT-2's."},

      {"adapter.layers",
       &c.adapter.layers,
       {},
       "Linear layers of the base, by name or the end of it (`attention.query`, or `query`), that get a low-rank "
       "adapter. With any, adapters alone are trained and kept in checkpoints."},
      {"adapter.rank", &c.adapter.rank, from_to(1, 1 << 16), "At most the smaller width of a layer."},
      {"adapter.alpha", &c.adapter.alpha, more_than(0), "The contribution is multiplied by alpha ÷ rank."},

      {"quantise.layers",
       &c.quantise.layers,
       {},
       "Linear layers of the base, named as in `adapter.layers`, whose weights are held in 4 bits a number (NF4)."},
      {"quantise.block", &c.quantise.block, from_to(32, 4096), "Numbers that share a scale: a power of two."},
      {"quantise.double_quantisation", &c.quantise.double_quantisation, Allowed{},
       "The scales are held in 8 bits each."},

      {"loss.kind", &c.loss.kind, one_of({"cross_entropy", "mse"}), "`mse` compares with the one-hot label."},
      {"loss.label_smoothing", &c.loss.label_smoothing, from_below(0, 1), "Of `cross_entropy`."},

      {"optimiser.kind", &c.optimiser.kind, one_of({"sgd", "adam", "adamw"}), "The update rule."},
      {"optimiser.learning_rate", &c.optimiser.learning_rate, more_than(0), "The largest rate of the schedule."},
      {"optimiser.momentum", &c.optimiser.momentum, from_below(0, 1), "Of `sgd`."},
      {"optimiser.nesterov", &c.optimiser.nesterov, {}, "Of `sgd`; needs a momentum."},
      {"optimiser.beta1", &c.optimiser.beta1, from_below(0, 1), "Of `adam` and `adamw`: decay of the first moment."},
      {"optimiser.beta2", &c.optimiser.beta2, from_below(0, 1), "Of `adam` and `adamw`: decay of the second moment."},
      {"optimiser.epsilon", &c.optimiser.epsilon, more_than(0),
       "Of `adam` and `adamw`: added to √v after its bias correction."},
      {"optimiser.weight_decay", &c.optimiser.weight_decay, at_least(0),
       "`adamw` shrinks the weights by it, `sgd` and `adam` add it times the weight to the gradient."},

      {"schedule.kind", &c.schedule.kind,
       one_of({"constant", "step", "cosine", "one_cycle", "warmup_cosine", "cyclic"}), "Course of the learning rate."},
      {"schedule.period", &c.schedule.period, at_least(0),
       "Steps from drop to drop of `step`, to the restart of `cosine`, of one rise and fall of `cyclic`; 0: the whole "
       "run."},
      {"schedule.factor", &c.schedule.factor, Allowed{.low = 0, .high = 1, .without_low = true},
       "Of `step`: the rate is multiplied by it at each drop."},
      {"schedule.warmup", &c.schedule.warmup, from_below(0, 1),
       "Of `one_cycle` and `warmup_cosine`: share of the run in which the rate rises."},
      {"schedule.start", &c.schedule.start, from_to(0, 1),
       "Of `one_cycle` and `warmup_cosine`: first rate, as a share of the largest."},
      {"schedule.minimum", &c.schedule.minimum, from_to(0, 1),
       "Lowest rate of `cosine` and `cyclic`, last one of `one_cycle` and `warmup_cosine`, as a share of the largest."},

      {"train.batch", &c.train.batch, from_to(1, 1 << 20), "Samples of one step."},
      {"train.epochs", &c.train.epochs, at_least(0), "Length of the run in passes over the training set."},
      {"train.steps", &c.train.steps, at_least(0), "Length of the run in steps, instead of `train.epochs`."},
      {"train.shards", &c.train.shards, from_to(1, 1 << 16),
       "Parts, a power of two, that a batch is computed in; part of the result's bits."},
      {"train.clip_norm", &c.train.clip_norm, at_least(0), "Largest global norm of the gradient; 0: any."},
      {"train.validate_every", &c.train.validate_every, at_least(0), "Steps between validations; 0: after each epoch."},
      {"train.evaluation_batch", &c.train.evaluation_batch, from_to(1, 1 << 20), "Samples evaluated at once."},

      {"checkpoint.every", &c.checkpoint.every, at_least(0), "Steps between checkpoints; 0: only at the end."},
      {"checkpoint.keep", &c.checkpoint.keep, at_least(1), "Checkpoints kept, the newest ones."},
      {"checkpoint.keep_best", &c.checkpoint.keep_best, Allowed{},
       "Also keep the one with the best validation accuracy, when there is a validation set."},

      {"run.device", &c.run.device, {}, "Where to compute; `assay devices` lists them."},
      {"run.threads", &c.run.threads, from_to(0, 1024),
       "Threads, which never change a bit under `exact`; 0: `ASSAY_THREADS`, else one per core."},
      {"run.numerics", &c.run.numerics, one_of({"exact", "fast"}),
       "`exact`: the same bits everywhere; `fast`: on `cpu`, products by Eigen, exp and the like by libm, on `cuda` "
       "products by cuBLAS, no bits promised."},
      {"run.tf32", &c.run.tf32, Allowed{},
       "Of `fast` on `cuda`: products may round their operands to TF32, which keeps 10 bits of the mantissa."},

      {"trace.level", &c.trace.level, one_of({"none", "step", "module", "op"}),
       "What is recorded of each step: `step` a digest of every parameter, gradient and optimiser tensor, `module` "
       "also "
       "of what each module computes, forward and backward, `op` of every operation's results."},
      {"trace.tensors",
       &c.trace.tensors,
       {},
       "Results, by the names that the trace gives them (`forward/fc1/linear`), that are kept whole at every step."},
  };
}

std::string key_reference() {
  Configuration defaults;
  std::string text =
      "# Configuration\n\n"
      "An experiment is a TOML file. Every key has a default, an unknown key is refused, and `--set key=value` "
      "replaces\n"
      "a value on the command line. `assay run --help-keys` prints this page.\n";
  std::string section;
  for (const ConfigurationKey& key : configuration_keys(defaults)) {
    if (const std::string its_section = key.name.substr(0, key.name.rfind('.')); its_section != section) {
      section = its_section;
      text += "\n## " + section + "\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
    }
    const std::string value = std::visit([](const auto* x) { return nlohmann::json(*x).dump(); }, key.field);
    text += "| `" + key.name + "` | " + key.expected() + " | `" + value + "` | " + key.meaning + " |\n";
  }
  return text;
}

}  // namespace assay
