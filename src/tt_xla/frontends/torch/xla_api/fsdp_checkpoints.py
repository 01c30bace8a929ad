"""``torch_xla.distributed.fsdp.state_dict_utils``: joins what the replicas of a model saved."""

from __future__ import annotations

import glob
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.xla_api.fsdp_shards import PREFIX as _PREFIX


def consolidate_sharded_state_dicts(
    state_dict_list: Sequence[Mapping[str, torch.Tensor]], shard_metadata: Mapping[str, Any]
) -> dict[str, torch.Tensor]:
    """Joins the state dictionaries of all replicas.

    Args:
        state_dict_list: ``model.state_dict()`` of each replica, in the order of their ranks.
        shard_metadata: ``model.get_shard_metadata()`` of one of them.

    Returns:
        The state dictionary of the model that was wrapped.

    Raises:
        ValueError: there are not as many dictionaries as replicas.
    """
    if len(state_dict_list) != shard_metadata["world_size"]:
        raise ValueError(
            f"The model was shared by {shard_metadata['world_size']} replicas, and {len(state_dict_list)} state "
            "dictionaries are given."
        )
    whole: dict[str, torch.Tensor] = {}
    for name, value in state_dict_list[0].items():
        shape = shard_metadata["shard_info"].get(name)
        if shape is not None:
            joined = torch.cat([own[name].cpu() for own in state_dict_list])
            value = joined[: math.prod(shape)].reshape(shape).clone()
        whole[name.replace("_fsdp_wrapped_module.", "").replace(_PREFIX, "")] = value
    return whole


def consolidate_sharded_model_checkpoints(
    ckpt_prefix: str, ckpt_suffix: str = "*.pth", save_path: str = "", save_model: bool = True
) -> tuple[dict[str, torch.Tensor], str | None]:
    """Joins the checkpoints of all replicas.

    Args:
        ckpt_prefix: beginning of the paths of the files. Each holds a dictionary with the state of the replica's model
            as ``model`` and its metadata as ``shard_metadata``.
        ckpt_suffix: their end, a pattern.
        save_path: path of the joined file; by default the prefix with ``_consolidated.pth``.
        save_model: whether to write it.

    Returns:
        The state dictionary of the model that was wrapped, and the path of the file; None if there is none.

    Raises:
        FileNotFoundError: no file fits.
        ValueError: the files are not those of all replicas.
    """
    paths = sorted(glob.glob(ckpt_prefix + ckpt_suffix))
    if not paths:
        raise FileNotFoundError(f"No file fits {ckpt_prefix + ckpt_suffix}.")
    checkpoints = [torch.load(path, map_location="cpu") for path in paths]
    checkpoints.sort(key=lambda checkpoint: checkpoint["shard_metadata"]["rank"])
    ranks = [checkpoint["shard_metadata"]["rank"] for checkpoint in checkpoints]
    size = checkpoints[0]["shard_metadata"]["world_size"]
    if ranks != [*range(size)]:
        raise ValueError(f"The model was shared by {size} replicas, and {paths} are those of the ranks {ranks}.")
    states = [checkpoint["model"] for checkpoint in checkpoints]
    whole = consolidate_sharded_state_dicts(states, checkpoints[0]["shard_metadata"])
    if not save_model:
        return whole, None
    path = save_path or f"{ckpt_prefix}_consolidated.pth"
    torch.save({"model": whole}, path)
    return whole, path
