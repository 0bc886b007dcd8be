"""ONNX nodes as calls of our operations: a function a node, which refuses what it cannot say with its reason."""

import numpy as np

MOST_AXES = 6  # of our tensors


class Unsupported(Exception):
    pass


class Data:
    """An array that is known without computing: an input, a constant, a shape."""

    def __init__(self, name, array):
        self.name, self.array = name, array


class Builder:
    """Calls on the record of one test; operands are values, data or numbers."""

    def __init__(self, record):
        self.record = record
        self.values = {}  # of the data that became inputs

    def real(self, operand):
        if isinstance(operand, (int, float)):
            operand = Data(f"constant_{len(self.values)}", np.float32(operand))
        if not isinstance(operand, Data):
            return operand
        if operand.array.dtype != np.float32:
            raise Unsupported(f"element type {operand.array.dtype}")
        return self.stored(operand, operand.array)

    def stored(self, data, array):
        if np.ndim(array) > MOST_AXES:
            raise Unsupported(f"{np.ndim(array)} axes; our tensors have at most {MOST_AXES}")
        if data.name not in self.values:
            self.values[data.name] = self.record.input(data.name, np.asarray(array))
        return self.values[data.name]

    def call(self, operation, *operands, **attributes):
        value = self.record.call(operation, *(self.real(operand) for operand in operands), **attributes)
        if value.array.ndim > MOST_AXES:
            raise Unsupported(f"{value.array.ndim} axes; our tensors have at most {MOST_AXES}")
        return value

    def reshape(self, x, shape):
        return self.call("reshape", x, shape=[int(extent) for extent in shape])

    def swap(self, x, a, b):
        return x if a == b else self.call("transpose", x, axis_a=int(a), axis_b=int(b))


def known(operand, what):
    if not isinstance(operand, Data):
        raise Unsupported(f"{what} computed by the graph")
    return operand.array


def fold(operation):
    def node(b, inputs, attributes):
        result = b.real(inputs[0])
        for other in inputs[1:]:
            result = b.call(operation, result, other)
        return result if len(inputs) > 1 else b.reshape(result, result.array.shape)

    return node


def elementwise(operation):
    return lambda b, inputs, attributes: b.call(operation, *inputs)


def negative(b, x):
    return b.call("multiply", x, -1)


def absolute(b, x):
    return b.call("add", b.call("relu", x), b.call("relu", negative(b, x)))


def below_zero(b, x):
    """min(x, 0)."""
    return negative(b, b.call("relu", negative(b, x)))


def exponential_unit(b, x, alpha):
    """max(x, 0) + alpha·(exp(min(x, 0)) − 1)."""
    bent = b.call("subtract", b.call("exp", below_zero(b, x)), 1)
    return b.call("add", b.call("relu", x), b.call("multiply", bent, alpha))


def hard_sigmoid(b, x, alpha, beta):
    """1 − max(1 − max(alpha·x + beta, 0), 0)."""
    line = b.call("relu", b.call("add", b.call("multiply", x, alpha), beta))
    return b.call("subtract", 1, b.call("relu", b.call("subtract", 1, line)))


def leaky(b, x, slope):
    return b.call("add", b.call("relu", x), b.call("multiply", below_zero(b, x), slope))


def on_last_axis(b, operation, x, axis):
    x = b.real(x)
    last = x.array.ndim - 1
    axis %= x.array.ndim
    return b.swap(b.call(operation, b.swap(x, axis, last)), axis, last)


def along_axis(operation):
    return lambda b, inputs, attributes: on_last_axis(b, operation, inputs[0], attributes.get("axis", -1))


def matmul(b, inputs, attributes):
    x, y = map(b.real, inputs)
    if min(x.array.ndim, y.array.ndim) < 2:
        raise Unsupported("an operand of one axis")
    return b.call("matmul", x, y)


def gemm(b, inputs, attributes):
    x, y, *bias = map(b.real, inputs)
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    if attributes.get("transA", 0):
        x = b.swap(x, 0, 1)
    outputs = y.array.shape[0]
    if attributes.get("transB", 0) and alpha == beta == 1 and bias and bias[0].array.size == outputs:
        return b.call("linear", x, y, b.reshape(bias[0], [outputs]))
    result = b.call("matmul", x, b.swap(y, 0, 1) if attributes.get("transB", 0) else y)
    if alpha != 1:
        result = b.call("multiply", result, alpha)
    for c in bias:
        result = b.call("add", result, c if beta == 1 else b.call("multiply", c, beta))
    return result


def reduction(reduce):
    """`reduce(b, x, axes)` drops the axes."""

    def node(b, inputs, attributes):
        x = b.real(inputs[0])
        rank = x.array.ndim
        axes = list(known(inputs[1], "axes")) if len(inputs) > 1 else list(attributes.get("axes", []))
        if not axes and attributes.get("noop_with_empty_axes", 0):
            return b.reshape(x, x.array.shape)
        axes = sorted(int(axis) % rank for axis in axes or range(rank))
        result = reduce(b, x, axes)
        if attributes.get("keepdims", 1):
            result = b.reshape(result, [1 if axis in axes else n for axis, n in enumerate(x.array.shape)])
        return result

    return node


def largest(b, x, axes):
    for axis in reversed(axes):
        x = b.call("maximum", x, axis=axis)
    return x


def smallest(b, x, axes):
    return negative(b, largest(b, negative(b, x), axes))


def total(b, x, axes):
    return b.call("sum", x, axes=axes)


def pool(reduce):
    return lambda b, inputs, attributes: reduction(reduce)(
        b, inputs, {"axes": range(2, b.real(inputs[0]).array.ndim)}
    )


def stacked(reduce):
    """Of several operands of one shape: one input that holds all of them, and `reduce` over its first axis."""

    def node(b, inputs, attributes):
        arrays = [known(each, "an operand") for each in inputs]
        return reduce(b, b.real(Data("stacked", np.stack(np.broadcast_arrays(*arrays)))), [0])

    return node


def permute(b, inputs, attributes):
    x = b.real(inputs[0])
    order = list(attributes.get("perm", reversed(range(x.array.ndim))))
    now = list(range(x.array.ndim))
    if order == now:
        return b.reshape(x, x.array.shape)
    for axis, wanted in enumerate(order):
        place = now.index(wanted)
        x = b.swap(x, axis, place)
        now[axis], now[place] = now[place], now[axis]
    return x


def reshape(b, inputs, attributes):
    x = b.real(inputs[0])
    shape = [int(extent) for extent in known(inputs[1], "a shape")]
    if not attributes.get("allowzero", 0):
        shape = [x.array.shape[axis] if extent == 0 else extent for axis, extent in enumerate(shape)]
    return b.reshape(x, x.array.reshape(shape).shape)


def flatten(b, inputs, attributes):
    x = b.real(inputs[0])
    outer = int(np.prod(x.array.shape[: attributes.get("axis", 1)]))
    return b.reshape(x, [outer, x.array.size // outer])


def axes_of(inputs, attributes, rank):
    axes = known(inputs[1], "axes") if len(inputs) > 1 else attributes["axes"]
    return sorted(int(axis) % rank for axis in axes)


def squeeze(b, inputs, attributes):
    x = b.real(inputs[0])
    axes = axes_of(inputs, attributes, x.array.ndim)
    return b.reshape(x, [extent for axis, extent in enumerate(x.array.shape) if axis not in axes])


def unsqueeze(b, inputs, attributes):
    x = b.real(inputs[0])
    count = len(known(inputs[1], "axes") if len(inputs) > 1 else attributes["axes"])
    shape = list(x.array.shape)
    for axis in axes_of(inputs, attributes, x.array.ndim + count):
        shape.insert(axis, 1)
    return b.reshape(x, shape)


def identity(b, inputs, attributes):
    x = b.real(inputs[0])
    return b.reshape(x, x.array.shape)


def expand(b, inputs, attributes):
    return b.call("multiply", inputs[0], Data("ones", np.ones(known(inputs[1], "a shape"), np.float32)))


def part(b, inputs, attributes):
    x = b.real(inputs[0])
    starts, ends = (known(each, "a range") for each in inputs[1:3])
    axes = known(inputs[3], "axes") if len(inputs) > 3 else range(len(starts))
    steps = known(inputs[4], "steps") if len(inputs) > 4 else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step != 1:
            raise Unsupported("a step other than 1")
        extent = x.array.shape[axis]
        begin, end, _ = slice(int(start), int(end)).indices(extent)
        x = b.call("slice", x, axis=int(axis) % x.array.ndim, begin=begin, end=max(begin, end))
    return x


def split(b, inputs, attributes, outputs):
    x = b.real(inputs[0])
    axis = attributes.get("axis", 0) % x.array.ndim
    sizes = known(inputs[1], "sizes") if len(inputs) > 1 else [x.array.shape[axis] // outputs] * outputs
    ends = np.cumsum(sizes)
    return [
        b.call("slice", x, axis=axis, begin=int(end - size), end=int(end)) for size, end in zip(sizes, ends)
    ]


def gather(b, inputs, attributes):
    if attributes.get("axis", 0) != 0:
        raise Unsupported("an axis other than 0")
    x = b.real(inputs[0])
    rows = x.array.shape[0]
    indices = known(inputs[1], "indices")
    ids = b.stored(Data("ids", None), np.where(indices < 0, indices + rows, indices).astype(np.int32))
    table = b.reshape(x, [rows, x.array.size // rows])
    picked = b.record.call("embedding", table, ids)
    return b.reshape(picked, indices.shape + x.array.shape[1:])


def dropout(b, inputs, attributes, recorded):
    """`recorded` are the results of the test: a mask among them is taken as an input."""
    training = len(inputs) > 2 and bool(known(inputs[2], "a mode"))
    ratio = float(known(inputs[1], "a ratio")) if len(inputs) > 1 and inputs[1] else 0.5
    if not training or ratio == 0:
        return identity(b, inputs, attributes)
    masks = [array for array in recorded.values() if array.dtype == np.bool_]
    if not masks:
        raise Unsupported("a random mask that is not recorded")
    b.record.signed_zeros = False  # ONNX multiplies by the mask, which leaves −0; ours selects
    mask = b.stored(Data("mask", None), masks[0].astype(np.uint8))
    return b.record.call("dropout", b.real(inputs[0]), mask, p=ratio)


def picked_losses(b, logarithms, labels, weight, attributes):
    """Losses from logarithms of probabilities, whose classes are axis 1: picked by a product with a table of −weight."""
    shape = logarithms.array.shape
    ignored = labels == attributes["ignore_index"] if "ignore_index" in attributes else np.zeros_like(labels, bool)
    each = np.where(ignored, 0, 1 if weight is None else weight[np.where(ignored, 0, labels)]).astype(np.float32)
    table = np.zeros(shape, np.float32)
    np.put_along_axis(table, np.where(ignored, 0, labels)[:, None], -each[:, None], 1)
    losses = total(b, b.call("multiply", logarithms, Data("table", table)), [1])
    reduction_kind = attributes.get("reduction", b"mean")
    if reduction_kind == b"none":
        return losses
    whole = total(b, losses, list(range(losses.array.ndim)))
    return whole if reduction_kind == b"sum" else b.call("divide", whole, float(each.astype(np.float64).sum()))


def negative_log_likelihood(b, inputs, attributes):
    weight = known(inputs[2], "weights") if len(inputs) > 2 else None
    return picked_losses(b, b.real(inputs[0]), known(inputs[1], "labels"), weight, attributes)


def softmax_cross_entropy(b, inputs, attributes):
    x, labels = b.real(inputs[0]), known(inputs[1], "labels")
    classes = x.array.shape[1]
    logarithms = on_last_axis(b, "log_softmax", x, 1)
    if len(inputs) > 2 or attributes.get("reduction", b"mean") != b"mean":
        weight = known(inputs[2], "weights") if len(inputs) > 2 else None
        return [picked_losses(b, logarithms, labels, weight, attributes), logarithms]
    rows = permute(b, [x], {"perm": [0, *range(2, x.array.ndim), 1]})
    ids = b.stored(Data("labels", None), labels.reshape(-1).astype(np.int32))
    ignored = {"ignore_index": attributes["ignore_index"]} if "ignore_index" in attributes else {}
    loss = b.record.call("cross_entropy", b.reshape(rows, [labels.size, classes]), ids, **ignored)
    return [loss, logarithms]


def log_sum(b, x, axes):
    return b.call("log", total(b, x, axes))


NODES = {
    "Abs": lambda b, inputs, attributes: absolute(b, inputs[0]),
    "Add": elementwise("add"),
    "Celu": lambda b, inputs, attributes: b.call(
        "multiply",
        exponential_unit(b, b.call("divide", inputs[0], attributes.get("alpha", 1.0)), 1),
        attributes.get("alpha", 1.0),
    ),
    "Div": elementwise("divide"),
    "Dropout": dropout,
    "Elu": lambda b, inputs, attributes: exponential_unit(b, inputs[0], attributes.get("alpha", 1.0)),
    "Exp": elementwise("exp"),
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Gemm": gemm,
    "GlobalAveragePool": pool(lambda b, x, axes: b.call("mean", x, axes=axes)),
    "GlobalMaxPool": pool(largest),
    "HardSigmoid": lambda b, inputs, attributes: hard_sigmoid(
        b, inputs[0], attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
    ),
    "HardSwish": lambda b, inputs, attributes: b.call("multiply", inputs[0], hard_sigmoid(b, inputs[0], 1 / 6, 0.5)),
    "Identity": identity,
    "LeakyRelu": lambda b, inputs, attributes: leaky(b, inputs[0], attributes.get("alpha", 0.01)),
    "Log": elementwise("log"),
    "LogSoftmax": along_axis("log_softmax"),
    "MatMul": matmul,
    "Max": stacked(largest),
    "Mean": lambda b, inputs, attributes: b.call("divide", fold("add")(b, inputs, attributes), len(inputs)),
    "Min": stacked(smallest),
    "Mul": elementwise("multiply"),
    "Neg": lambda b, inputs, attributes: negative(b, inputs[0]),
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "PRelu": lambda b, inputs, attributes: leaky(b, *inputs),
    "Reciprocal": lambda b, inputs, attributes: b.call("divide", 1, inputs[0]),
    "ReduceL1": reduction(lambda b, x, axes: total(b, absolute(b, x), axes)),
    "ReduceLogSum": reduction(log_sum),
    "ReduceLogSumExp": reduction(lambda b, x, axes: log_sum(b, b.call("exp", x), axes)),
    "ReduceMax": reduction(largest),
    "ReduceMean": reduction(lambda b, x, axes: b.call("mean", x, axes=axes)),
    "ReduceMin": reduction(smallest),
    "ReduceSum": reduction(total),
    "ReduceSumSquare": reduction(lambda b, x, axes: total(b, b.call("multiply", x, x), axes)),
    "Relu": elementwise("relu"),
    "Reshape": reshape,
    "Selu": lambda b, inputs, attributes: b.call(
        "multiply",
        exponential_unit(b, inputs[0], attributes.get("alpha", 1.67326319217681884765625)),
        attributes.get("gamma", 1.05070102214813232421875),
    ),
    "Sigmoid": elementwise("sigmoid"),
    "Slice": part,
    "Softmax": along_axis("softmax"),
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    "Softplus": lambda b, inputs, attributes: b.call("log", b.call("add", b.call("exp", inputs[0]), 1)),
    "Softsign": lambda b, inputs, attributes: b.call("divide", inputs[0], b.call("add", absolute(b, inputs[0]), 1)),
    "Split": split,
    "Squeeze": squeeze,
    "Sub": elementwise("subtract"),
    "Sum": fold("add"),
    "Tanh": elementwise("tanh"),
    "Transpose": permute,
    "Unsqueeze": unsqueeze,
}
