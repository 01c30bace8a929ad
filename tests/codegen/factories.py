"""Finds calls of torch's factory functions that name no device, which ``torch.set_default_device`` would move."""

from __future__ import annotations

import ast

FACTORIES = {
    *("arange", "as_tensor", "asarray", "empty", "empty_permuted", "empty_strided", "eye", "from_file", "full"),
    *("linspace", "logspace", "ones", "rand", "randint", "randn", "randperm", "range", "scalar_tensor", "tensor"),
    *("tril_indices", "triu_indices", "vander", "zeros"),
}


def without_device(source: str) -> list[str]:
    """Returns the text of each call ``torch.<factory>(...)`` in Python source that has no ``device`` keyword."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "torch"
        and node.func.attr in FACTORIES
        and all(keyword.arg != "device" for keyword in node.keywords)
    ]
