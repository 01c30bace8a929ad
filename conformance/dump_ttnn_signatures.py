"""Prints the signatures of TT-NN's public functions and configs. A script for an interpreter that has ``ttnn``.

Each line is one overload, ``ttnn.add(input_tensor_a: Tensor, input_tensor_b: Tensor, *, dtype: DataType | None=None)``,
with the kinds of arguments that nanobind takes. A default that is no literal and no name of ``ttnn`` is ``...``.
"""

import inspect
import re
import types

import ttnn

PACKAGES = ("transformer", "experimental", "kv_cache", "graph", "distributed")
CONFIGS = re.compile(r"Config$|Spec$|^Core(Coord|Grid|Range|RangeSet)$")
"""Names of the classes whose constructors are listed."""


def default_of(value):
    """Returns the source of a default value."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        items = [default_of(item) for item in value]
        return "..." if "..." in items else f"[{', '.join(items)}]"
    for name in ("DRAM_MEMORY_CONFIG", "L1_MEMORY_CONFIG"):
        if isinstance(value, ttnn.MemoryConfig) and value == getattr(ttnn, name):
            return f"ttnn.{name}"
    if re.fullmatch(r"\w+\.\w+", str(value)) and hasattr(ttnn, str(value).partition(".")[0]):
        return f"ttnn.{value}"
    return "..."


def of_overload(name, overload):
    """Returns the line of one overload that nanobind describes: its source, its docstring, and its defaults."""
    source, _doc, *defaults = overload
    inside = source.partition("(")[2]
    if ")" in inside:
        inside = inside.rpartition(")" if " -> " not in source else ") -> ")[0]
    parts, optional = [], False
    for parameter in split(inside.replace("\\*", "*")):
        head, _, default = parameter.rpartition(" = ") if " = " in parameter else (parameter, "", "")
        label, _, kind = (each.strip() for each in head.partition(":"))
        if label == "self":
            continue
        label += f": {kind_of(kind)}" if kind else ""
        if default:
            number = re.fullmatch(r"\\(\d+)", default)
            label += f"={default_of(defaults[0][int(number[1])]) if number else default}"
        elif "Optional[" in head or (optional and not label.startswith(("*", "/")) and "*" not in parts):
            label += "=..."  # nanobind allows a parameter without a default after one that has a default
        optional = label != "*" and (optional or bool(default))
        parts.append(label)
    return f"{name}({', '.join(parts)})"


def kind_of(text):
    """Returns the kinds of an argument without the modules of their classes, each once."""
    kinds = re.sub(r"(?:\w+(?:\.|::))+", "", text.replace('"', ""))
    kinds = kinds.replace("int_", "int").replace("<", "[").replace(">", "]")
    return " | ".join(dict.fromkeys(kinds.split(" | ")))


def split(text):
    """Splits parameters at the commas that are not in brackets or in quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for index, character in enumerate(text):
        quoted ^= character == '"'
        depth += (character in "[(<") - (character in "])>" and text[index - 1] != "-")
        if character == "," and not depth and not quoted:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()] if text.strip() else parts


def of_function(name, function):
    """Returns the line of a Python function."""
    parts, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred |= parameter.kind is parameter.VAR_POSITIONAL
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={default_of(parameter.default)}"
        parts.append(f"{prefix}{parameter.name}{default}")
    return f"{name}({', '.join(parts)})"


def lines_of(name, value):
    """Returns the lines of a function, an operation or a config."""
    if isinstance(value, type):
        overloads = getattr(value.__init__, "__nb_signature__", ())
    else:
        value = getattr(value, "function", value)
        overloads = getattr(value, "__nb_signature__", None) or getattr(type(value).__call__, "__nb_signature__", None)
    if overloads is None:
        line = of_function(name, value)
        native = wrapped(value.__name__) if line.endswith("(*args, **kwargs)") else None
        return lines_of(name, native) if native is not None else [line]
    return list(dict.fromkeys(of_overload(name, overload) for overload in overloads))


def wrapped(name):
    """Returns the native function that a Python function passes all of its arguments to."""
    modules = (each for each in vars(ttnn._ttnn.operations).values() if isinstance(each, types.ModuleType))
    return next((getattr(each, name) for each in modules if hasattr(each, name)), None)


def public(module, prefix):
    """Yields the name and value of each public function and config of a module, and of the packages in it."""
    for name in sorted(dir(module)):
        value = getattr(module, name, None)
        if name.startswith("_"):
            continue
        if isinstance(value, types.ModuleType):
            if prefix == "ttnn" and name in PACKAGES:
                yield from public(value, f"ttnn.{name}")
        elif isinstance(value, type):
            if CONFIGS.search(name):
                yield f"{prefix}.{name}", value
        elif callable(value) and type(value).__module__ != "typing":
            yield f"{prefix}.{name}", value


def methods(kind):
    """Yields the name and value of each method of a class that nanobind describes."""
    for name in sorted(dir(kind)):
        value = getattr(kind, name)
        if not name.startswith("_") and hasattr(value, "__nb_signature__"):
            yield f"ttnn.{kind.__name__}.{name}", value


def main():
    for name, value in [*public(ttnn, "ttnn"), *methods(ttnn.Tensor)]:
        for line in lines_of(name, value):
            print(line)


if __name__ == "__main__":
    main()
