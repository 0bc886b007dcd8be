# The models of Assay's runs in PyTorch: their forms, the initial values of a run, and which name is which of the run's.
"""As close to what a user of PyTorch would write as the run's formula allows; names of a decoder are the run's."""

import math

import torch
from torch import nn
from torch.nn import functional

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
SLOTS = {"sgd": {"momentum_buffer": "velocity"}, "adam": {"exp_avg": "first_moment", "exp_avg_sq": "second_moment"}}
SLOTS["adamw"] = SLOTS["adam"]


class LayerNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return functional.layer_norm(x, self.scale.shape, self.scale, self.bias, 1e-5)


class CausalSelfAttention(nn.Module):
    def __init__(self, context, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.register_buffer("later", torch.ones(context, context, dtype=torch.bool).triu(1))

    def forward(self, x):
        positions = x.shape[1]
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B, H, T, D/H]
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-1, -2)
        weights = scores.masked_fill(self.later[:positions, :positions], -math.inf).softmax(-1)
        return self.output((weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, hidden, activation):
        super().__init__()
        self.expand, self.activation, self.project = nn.Linear(width, hidden), activation, nn.Linear(hidden, width)

    def forward(self, x):
        return self.project(self.activation(self.expand(x)))


class Block(nn.Module):
    def __init__(self, context, width, heads, hidden, activation):
        super().__init__()
        self.attention_norm, self.attention = LayerNorm(width), CausalSelfAttention(context, width, heads)
        self.feed_forward_norm, self.feed_forward = LayerNorm(width), FeedForward(width, hidden, activation)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """ids [B, T] → logits [B·T, vocabulary]: a row for each label."""

    def __init__(self, vocabulary, context, width, heads, blocks, hidden, activation="gelu", tied=False):
        super().__init__()
        self.token_embedding, self.position_embedding = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            Block(context, width, heads, hidden, ACTIVATIONS[activation]()) for _ in range(blocks))
        self.final_norm, self.language_model_head = LayerNorm(width), nn.Linear(width, vocabulary)
        for embedding in self.token_embedding, self.position_embedding:
            nn.init.normal_(embedding.weight, std=0.02)
        if tied:
            self.language_model_head.weight = self.token_embedding.weight

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.language_model_head(self.final_norm(x)).flatten(0, 1)


def make_model(experiment):
    """The model of a run with its initial values."""
    config, initial = experiment.config, [array for _, array in experiment.initial_parameters()]
    if config["model.kind"] == "decoder":
        keys = ("width", "heads", "blocks", "hidden", "activation", "tied")
        tokens, positions = initial[:2]
        model = Decoder(len(tokens), len(positions), *(config[f"model.{key}"] for key in keys))
    else:
        widths, modules = config["model.layers"], []
        for extents in zip(widths[:-1], widths[1:]):
            modules += [nn.Linear(*extents), ACTIVATIONS[config["model.activation"]]()]
        model = nn.Sequential(*modules[:-1])
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), initial, strict=True):
            parameter.copy_(torch.from_numpy(array))
    return model


def number(name, n):
    """The name of the n-th result of a name in a step."""
    return name if n == 1 else f"{name}#{n}"


def mlp_names(config):
    """The activations are operations outside of a module, numbered in the order in which the step comes to them."""
    layers, kind = len(config["model.layers"]) - 1, config["model.activation"]
    activation = ACTIVATIONS[kind].__name__
    parameters, trace = {}, {}
    for layer in range(1, layers + 1):
        module, ours = 2 * (layer - 1), f"fc{layer}/linear"
        for operand, name in enumerate(("weight", "bias"), 1):
            parameters[f"{module}.{name}"] = f"fc{layer}.{name}"
            trace[f"backward/{module}/Linear:{operand}"] = f"backward/{ours}:{operand}"
        fused = kind == "relu" and layer < layers
        trace[f"forward/{module + 1}/{activation}" if fused else f"forward/{module}/Linear"] = f"forward/{ours}"
        if layer > 1:
            trace[f"backward/{module}/Linear:0"] = f"backward/{ours}:0"
        if kind != "relu" and layer < layers:
            trace[f"forward/{module + 1}/{activation}"] = number(f"forward//{kind}", layer)
            trace[f"backward/{module + 1}/{activation}:0"] = number(f"backward//{kind}:0", layers - layer)
    return parameters, trace


def decoder_names(config, model):
    """Of modules that are one operation of the run's."""
    kind, trace = config["model.activation"], {}
    for path, module in model.named_modules():
        name, place = type(module).__name__, f"{path}/{type(module).__name__}"
        if isinstance(module, ACTIVATIONS[kind]):
            layer = path.removesuffix(".activation")
            if kind == "relu":
                trace[f"forward/{place}"] = f"forward/{layer}.expand/linear"
            else:
                trace[f"forward/{place}"] = f"forward/{layer}/{kind}"
                trace[f"backward/{place}:0"] = f"backward/{layer}/{kind}:0"
        elif isinstance(module, (nn.Linear, LayerNorm, nn.Embedding)):
            ours = {"Linear": "linear", "LayerNorm": "layer_norm", "Embedding": "embedding"}[name]
            if not (kind == "relu" and path.endswith(".expand")):
                trace[f"forward/{place}"] = f"forward/{path}/{ours}"
            ids = name == "Embedding"  # which are an operand of the module, but not of the operation's gradients
            for operand in range(ids, 1 + len(list(module.parameters()))):
                trace[f"backward/{place}:{operand}"] = f"backward/{path}/{ours}:{operand - ids}"
    if config["model.tied"]:  # of its two uses PyTorch tells only the sum
        del trace["backward/token_embedding/Embedding:1"], trace["backward/language_model_head/Linear:1"]
    return {name: name for name, _ in model.named_parameters()}, trace


def make_names(config, model):
    """Tables from the names of `make_model` to the run's, for what both compute.

    The run's `linear` has the rectifier in it: it is the result of the module behind.
    """
    parameters, trace = decoder_names(config, model) if config["model.kind"] == "decoder" else mlp_names(config)
    trace["forward//CrossEntropyLoss"] = "forward//cross_entropy"
    trace["backward//CrossEntropyLoss:0"] = "backward//cross_entropy:0"
    optimiser = {f"{slot}.{name}": f"{our_slot}.{our_name}"
                 for slot, our_slot in SLOTS[config["optimiser.kind"]].items() for name, our_name in parameters.items()}
    return {"parameters": parameters, "optimiser": optimiser, "trace": trace}
