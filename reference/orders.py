"""The summation trees of the numerics contract, as text: `reference/orders.py` prints what orders.txt holds.

A line is an order, the number of elements, and the tree: what stands between parentheses is added from left to right,
each item being an element (counted from 0), a run of elements, or such a tree. `0..511` are 512 elements, ascending;
`0..96/32` are 0, 32, 64 and 96; `8..0` descends. Addition commutes, so of two operands the larger stands first, of two
equally large ones that with the lowest element; two elements stand in the direction of a third one behind them.
"""


def chained(parts):
    """((part + part) + part) + …"""
    tree = parts[0]
    for part in parts[1:]:
        tree = (tree, part)
    return tree


def chain(elements):
    """Ascending in blocks of 512 that begin at multiples of 512; then the blocks, ascending."""
    blocks = [elements[begin : begin + 512] for begin in range(0, len(elements), 512)]
    return chained([chained(block) for block in blocks])


def anchored(elements):
    """The chain of what stands at 1, 2, …: its blocks too begin at multiples of 512, so the first has 511."""
    blocks = [elements[max(begin, 0) : begin + 512] for begin in range(-1, len(elements), 512)]
    return chained([chained(block) for block in blocks])


def lanes(parts):
    """32 lanes, each of every 32nd part, ascending; lane l adds lane l + w for w = 16, 8, 4, 2, 1. Empty ones add 0."""
    lane = [chained(parts[first::32]) if first < len(parts) else None for first in range(32)]
    width = 16
    while width:
        for at in range(width):
            both = [part for part in (lane[at], lane[at + width]) if part is not None]
            lane[at] = chained(both) if both else None
        width //= 2
    return lane[0]


def lane(elements):
    """Lanes over each 4096 elements, then over those sums."""
    while len(elements) > 4096:
        elements = [lanes(elements[begin : begin + 4096]) for begin in range(0, len(elements), 4096)]
    return lanes(elements)


def binary(elements):
    """Halves, of a power of two."""
    half = len(elements) // 2
    return (binary(elements[:half]), binary(elements[half:])) if half else elements[0]


ORDERS = {
    "lane": (lane, (1, 9, 31, 32, 33, 64, 100, 4096, 4097, 8193)),
    "chain": (chain, (1, 2, 33, 511, 512, 513, 1025)),
    "anchored": (anchored, (2, 33, 513)),
    "ascending": (chained, (1, 33, 513)),
    "descending": (lambda elements: chained(elements[::-1]), (1, 2, 9)),
    "binary": (binary, (1, 2, 4, 8, 32)),
}


def measured(tree):
    """(size, lowest element, operands) of a tree and of all in it; without recursion, since chains are deep."""
    done, waiting = {}, [tree]
    while waiting:
        node = waiting[-1]
        if isinstance(node, int):
            done[id(node)] = (1, node, None)
        elif all(id(operand) in done for operand in node):
            sizes = [done[id(operand)] for operand in node]
            done[id(node)] = (sum(size for size, _, _ in sizes), min(low for _, low, _ in sizes), node)
        else:
            waiting += node
            continue
        waiting.pop()
    return done


def text(tree):
    facts = measured(tree)

    def written(node):
        items = []
        while not isinstance(node, int):
            first, second = node
            if (-facts[id(first)][0], facts[id(first)][1]) > (-facts[id(second)][0], facts[id(second)][1]):
                first, second = second, first
            items.append(second)
            node = first
        items = [node, *reversed(items)]
        if len(items) > 2 and all(isinstance(item, int) for item in items[:3]) and items[2] < items[0]:
            items[:2] = items[1::-1]
        words, at = [], 0
        while at < len(items):
            end = run(items, at)
            if end - at > 2:
                step = abs(items[at + 1] - items[at])
                words.append(f"{items[at]}..{items[end - 1]}" + (f"/{step}" if step > 1 else ""))
                at = end
            else:
                words.append(str(items[at]) if isinstance(items[at], int) else f"({written(items[at])})")
                at += 1
        return " ".join(words)

    return f"({written(tree)})"


def run(items, begin):
    """Where the elements at equal distances end that begin there."""
    end = begin
    while end < len(items) and isinstance(items[end], int):
        if end - begin > 1 and items[end] - items[end - 1] != items[begin + 1] - items[begin]:
            break
        end += 1
    return end


def lines():
    return [f"{name} {size} {text(order(list(range(size))))}" for name, (order, sizes) in ORDERS.items() for size in sizes]


if __name__ == "__main__":
    print("\n".join(lines()))
