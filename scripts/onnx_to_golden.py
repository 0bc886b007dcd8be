"""What scripts/onnx_to_golden does once the packages are there: ONNX's node tests as one golden file."""

import argparse
import collections
import inspect
import sys
from pathlib import Path

import golden
import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper
from onnx_nodes import NODES, Builder, Data, Unsupported

DATA = Path("/usr/share/libonnx-testdata/data/node")


def tensors(folder, kind, declared):
    """The arrays input_N.pb or output_N.pb of a data set under the names that the graph declares."""
    arrays = {}
    for number, value in enumerate(declared):
        if value.type.WhichOneof("value") != "tensor_type":
            raise Unsupported(f"an {kind} that is no tensor")
        message = onnx.TensorProto.FromString((folder / f"{kind}_{number}.pb").read_bytes())
        arrays[value.name] = numpy_helper.to_array(message)
    return arrays


def apply(builder, node, known, recorded):
    """The results of a node, a value or data each."""
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    inputs = [known[name] if name else None for name in node.input]
    if node.op_type == "Constant":
        return [Data(node.output[0], numpy_helper.to_array(attributes["value"]))]
    if node.op_type == "Shape" and not attributes:
        return [Data(node.output[0], np.array(inputs[0].array.shape, np.int64))]
    if node.domain or node.op_type not in NODES:
        raise Unsupported("no such operation")
    function = NODES[node.op_type]
    more = {"outputs": len(node.output), "recorded": recorded}
    more = {name: value for name, value in more.items() if name in inspect.signature(function).parameters}
    results = function(builder, inputs, attributes, **more)
    return results if isinstance(results, list) else [results]


def convert(record, model, folder):
    """Fills the record of a test. Raises Unsupported."""
    graph = model.graph
    recorded = tensors(folder, "output", graph.output)
    known = {name: Data(name, array) for name, array in tensors(folder, "input", graph.input).items()}
    known |= {each.name: Data(each.name, numpy_helper.to_array(each)) for each in graph.initializer}
    builder = Builder(record)
    several = sum(node.op_type != "Constant" for node in graph.node) > 1
    for node in graph.node:
        try:
            known |= zip(node.output, apply(builder, node, known, recorded))
        except Unsupported as why:
            raise Unsupported(f"{node.op_type}: {why}" if several else str(why)) from None
    for name, array in recorded.items():
        if array.dtype == np.bool_ and graph.node[0].op_type == "Dropout":
            continue  # the mask, which is not computed
        if isinstance(known[name], Data):
            raise Unsupported("no such operation")
        record.expect(name, known[name], array)


def label(tests, name, models):
    """The row of the table: the operation, and of a function's body that function's."""
    whole = name.removesuffix("_expanded")
    if whole != name and whole in tests:
        return f"{models[whole].graph.node[0].op_type} (expanded)"
    return models[name].graph.node[-1].op_type


def records_of(data):
    tests = sorted(folder.parent.name for folder in data.glob("*/model.onnx"))
    if not tests:
        raise ValueError(f"expected */model.onnx in {data}, found none; Debian's libonnx-testdata brings them")
    models = {}
    for name in tests:
        try:
            models[name] = onnx.load(data / name / "model.onnx")
        except DecodeError as error:
            raise ValueError(f"expected a graph in {data / name / 'model.onnx'}, found: {error}") from None
    for name in tests:
        row = label(tests, name, models)
        record = golden.Record(name, row)
        try:
            convert(record, models[name], data / name / "test_data_set_0")
        except Unsupported as why:
            record = golden.Record(name, row, unsupported=str(why))
        except DecodeError as error:
            raise ValueError(f"expected tensors in {data / name}/test_data_set_0, found: {error}") from None
        yield record


def main():
    parser = argparse.ArgumentParser(prog="scripts/onnx_to_golden", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    np.seterr(all="ignore")  # infinities and NaNs are among the tests
    try:
        records = list(records_of(options.data))
        golden.write(options.out, f"ONNX {onnx.__version__} node tests", records)
    except (ValueError, OSError) as error:
        print(f"onnx_to_golden: {error}", file=sys.stderr)
        return 2
    counts = collections.Counter(bool(record.unsupported) for record in records)
    print(f"{options.out}: {len(records)} records, {counts[False]} to run, {counts[True]} unsupported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
