"""Every private API of PyTorch that the frontend uses, one thin module per subsystem of PyTorch.

A name counts as private when it, or a module on its path from ``torch``, begins with one underscore: ``torch._dynamo``,
``torch._C``, ``torch._ops``. Names of operators (``torch.ops.aten._softmax``) are public. Code outside this folder
imports these names from here, so an upgrade of PyTorch is checked in one place;
``tests/frontends/torch/test_private.py`` checks that.

``patches`` and ``dynamo_patches`` hold every function of PyTorch that the frontend replaces.
"""
