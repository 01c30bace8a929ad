"""``torch_xla._XLAC`` compiles recorded ops, and runs their graphs again on other tensors."""

from __future__ import annotations

import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.debug.metrics as met  # noqa: E402
from torch_xla import _XLAC  # noqa: E402
from torch_xla._dynamo.dynamo_bridge import GraphInputMatcher, NoneRemover  # noqa: E402


@pytest.fixture(autouse=True)
def _nothing_pending(exact):
    torch_xla.sync()
    met.clear_all()


def numbers(*values):
    return torch.tensor([float(value) for value in values]).to("xla")


def test_a_graph_runs_on_other_tensors():
    x, weight = numbers(1, 2), numbers(10, 20)
    product = x * weight
    x.add_(1)
    outputs = [product, x, weight, product]
    name = _XLAC._get_graph_hash(outputs)
    ids, inputs = _XLAC._get_tensors_xla_device_data_node(outputs)
    own = [_XLAC._xla_get_tensor_id(weight)]
    matcher = GraphInputMatcher({number: 0 for number in ids if number not in own}, ids, inputs, {*ids} - {*own})
    assert [value is None for value in matcher.graph_input_xla_values] == [number not in own for number in ids]
    _XLAC._xla_warm_up_cache(outputs, [])
    assert met.metric_data("ExecuteTime") is None
    compiled = met.metric_data("CompileTime")[0]
    results = _XLAC._run_cached_graph(name, matcher([torch.tensor([3.0, 4.0])]))
    assert [result.tolist() for result in results] == [[30, 80], [4, 5]]
    assert (compiled, met.metric_data("CompileTime")[0]) == (1, 1)
    assert [product.tolist(), x.tolist()] == [[10, 40], [2, 3]]
    with pytest.raises(ValueError, match="takes tensors of shapes"):
        _XLAC._run_cached_graph(name, [weight, numbers(1)])
    with pytest.raises(KeyError, match="compile it first"):
        _XLAC._run_cached_graph(b"other", [x])


def test_inputs_of_recorded_ops_share_bytes_and_keep_them():
    x, y = numbers(1), numbers(2)
    total = (x + y) * y
    ids, inputs = _XLAC._get_tensors_xla_device_data_node([total])
    assert ids == [_XLAC._xla_get_tensor_id(y), _XLAC._xla_get_tensor_id(x)]
    assert _XLAC._get_tensors_handle(inputs) == _XLAC._get_tensors_handle([y, x])
    y.fill_(7)
    assert _XLAC._xla_get_tensor_id(y) not in _XLAC._get_tensors_xla_device_data_node([total])[0]
    assert [value.tolist() for value in inputs] == [[2], [1]]


def test_only_the_given_tensors_are_computed():
    x = numbers(1)
    total, product = x + 1, x * 3
    assert _XLAC._check_tensor_need_materialization([x, total, torch.ones(1)]) == [False, True, False]
    _XLAC._xla_sync_multi([product], [])
    assert _XLAC._check_tensor_need_materialization([total, product]) == [True, False]
    _XLAC._clear_pending_irs("xla:0")
    torch_xla.sync()
    assert met.metric_data("ExecuteTime")[0] == 1
    assert product.tolist() == [3]
    with pytest.raises(RuntimeError, match="has no bytes"):
        total.cpu()


def test_the_seed_is_a_tensor():
    xm.set_rng_state(23)
    assert _XLAC._get_base_seed_as_tensor("xla:0").item() == 23


@pytest.mark.parametrize("kind", [list, tuple])
def test_none_is_taken_out_and_put_back(kind):
    remover = NoneRemover()
    values = kind([None, 1, None, 2])
    assert (remover.remove_nones(values), remover.none_poslist) == (kind([1, 2]), [0, 2])
    assert remover.add_nones(kind([3, 4])) == kind([None, 3, None, 4])
    with pytest.raises(TypeError, match="type set"):
        remover.remove_nones({1})
