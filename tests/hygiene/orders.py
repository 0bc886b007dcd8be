"""The committed trees are those that the generator states, and the generator's notation tells orders apart."""

import importlib.util
import unittest

from repository import ROOT

specification = importlib.util.spec_from_file_location("summation_orders", ROOT / "reference/orders.py")
orders = importlib.util.module_from_spec(specification)
specification.loader.exec_module(orders)


class Orders(unittest.TestCase):
    def test_NUM_12_the_committed_trees_are_those_of_the_stated_orders(self):
        self.assertEqual((ROOT / "reference/orders.txt").read_text().splitlines(), orders.lines())

    def test_each_tree_holds_all_elements(self):
        for order, sizes in orders.ORDERS.values():
            for size in sizes:
                tree = order(list(range(size)))
                self.assertEqual(orders.measured(tree)[id(tree)][:2], (size, 0))

    def test_the_notation(self):
        for tree, text in (
            (0, "(0)"),
            ((1, 0), "(0 1)"),
            (((0, 1), 2), "(0..2)"),
            ((2, (0, 1)), "(0..2)"),
            (((2, 1), 0), "(2..0)"),
            ((0, (1, 2)), "(2..0)"),
            (((0, 1), (2, 3)), "(0 1 (2 3))"),
            (((0, 2), 4), "(0..4/2)"),
            ((((6, 4), 2), 1), "(6..2/2 1)"),
        ):
            self.assertEqual(orders.text(tree), text)


if __name__ == "__main__":
    unittest.main()
