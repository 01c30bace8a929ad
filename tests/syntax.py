"""What rules about source files share."""

from __future__ import annotations

import ast


def dotted(node: ast.AST) -> str:
    """Returns the text of an attribute chain such as ``compiler.backend_compile``; empty for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (root := dotted(node.value)):
        return f"{root}.{node.attr}"
    return ""
