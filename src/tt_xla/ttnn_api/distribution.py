"""Mappers, which split a host tensor over the chips of a mesh, and composers, which join the shards again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.configs import config_class
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.shapes import MeshCoordinate, MeshShape
from tt_xla.ttnn_api.tensor import Contents, Tensor
from tt_xla.ttnn_api.topology import REPLICATE, Placement, PlacementShard, TensorTopology, mesh_places

if TYPE_CHECKING:
    import torch

__all__ = [
    "CppMeshToTensor",
    "CppTensorToMesh",
    "DistributedHostBuffer",
    "MeshComposerConfig",
    "MeshMapperConfig",
    "MeshToTensor",
    "ReplicateTensorToMeshWrapper",
    "TensorToMesh",
]


class MeshMapperConfig(config_class("ttnn.MeshMapperConfig")):
    """A placement for each axis of the mesh, or of ``mesh_shape_override``."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        if "placements" not in self.__dict__:
            dims = (self.__dict__.pop("row_dim"), self.__dict__.pop("col_dim"))
            self.placements = [REPLICATE if dim is None else PlacementShard(dim) for dim in dims]
        self.placements = list(self.placements)
        if self.mesh_offset_override is ...:
            self.mesh_offset_override = MeshCoordinate([])

    def __repr__(self) -> str:
        return _shown(self, "placements")


class MeshComposerConfig(config_class("ttnn.MeshComposerConfig")):
    """The dimension of the tensor along which the shards of each axis of the mesh are joined."""

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        if "dims" not in self.__dict__:
            self.dims = [self.__dict__.pop("row_dim"), self.__dict__.pop("col_dim")]
        self.dims = list(self.dims)
        if self.mesh_offset_override is ...:
            self.mesh_offset_override = MeshCoordinate([])

    def __repr__(self) -> str:
        return _shown(self, "dims")


def _shown(config: Any, name: str) -> str:
    override = config.mesh_shape_override
    shape = "" if override is None else f", mesh_shape_override={override}"
    return f"{type(config).__name__}({name}: {getattr(config, name)}{shape})"


def _distribution(config: Any, mesh: MeshShape, name: str, word: str) -> MeshShape:
    """Returns the shape that a mapper or composer distributes over.

    Raises:
        TTFatal: it has other dimensions than the config, or more chips than the mesh.
    """
    shape = mesh if config.mesh_shape_override is None else MeshShape(config.mesh_shape_override)
    if shape.mesh_size() > mesh.mesh_size():
        mesh_places(shape, mesh)
    if shape.dims() != len(getattr(config, name)):
        raise TTFatal(
            f"The number of dimensions in the mesh shape {shape} does not match the number of {word} in the config "
            f"{config}",
            hint=f"Pass one of the {name} for each axis of the mesh, or mesh_shape_override.",
        )
    return shape


def _checked_dims(dims: Sequence[int], rank: int) -> list[int]:
    """Returns dimensions of a tensor counted from the front.

    Raises:
        TTFatal: the tensor has no such dimension, or one is named twice.
    """
    normal = [dim + rank if dim < 0 else dim for dim in dims]
    if any(not 0 <= dim < rank for dim in normal):
        raise TTFatal(
            f"Invalid dimension index; got dims: {{{', '.join(map(str, dims))}}}, tensor dimension: {rank}",
            hint="Name dimensions that the tensor has.",
        )
    if len({*normal}) != len(normal):
        raise TTFatal("dims must be unique", hint="Name another dimension for each axis of the mesh.")
    return normal


class CppTensorToMesh:
    """Splits a host tensor over the chips of a mesh.

    Args:
        mesh: shape of the mesh.
        config: the placements.
    """

    def __init__(self, mesh: MeshShape, config: MeshMapperConfig) -> None:
        self._mesh, self._config = mesh, config
        self._shape = _distribution(config, mesh, "placements", "placements")

    def unwrap(self) -> CppTensorToMesh:
        return self

    def split(self, tensor: Tensor) -> Tensor:
        """Returns the tensor with a shard for each chip. Chips with the same shard share its elements.

        Raises:
            TTFatal: a dimension has no equal parts.
        """
        (source,) = tensor.contents.shards[:1]
        placements: list[Placement] = list(self._config.placements)
        sharded = [place.dim for place in placements if isinstance(place, PlacementShard)]
        normal = iter(_checked_dims(sharded, source.dim()))
        dims = [next(normal) if isinstance(place, PlacementShard) else None for place in placements]
        parts = [_parts(source, dim, size) for dim, size in zip(dims, self._shape, strict=True)]
        counts = MeshShape([len(each) for each in parts])
        by_place: dict[tuple[Any, ...], torch.Tensor] = {}
        shards: list[torch.Tensor] = []
        for place in itertools.product(*parts):
            if place not in by_place:
                shard = source
                for dim, bounds in zip(dims, place, strict=True):
                    shard = shard if dim is None else shard.narrow(dim, *bounds)
                by_place[place] = shard.contiguous()
            shards.append(by_place[place])
        shapes = list(dict.fromkeys(tuple(shard.shape) for shard in shards))
        if len(shapes) > 1:
            raise TTFatal(
                f"Shard shape mismatch: expected Shape({list(shapes[0])}) but got Shape({list(shapes[1])})",
                hint="Pad the tensor so that the chips divide its dimension into equal parts.",
            )
        coords = mesh_places(counts, self._mesh, self._config.mesh_offset_override)
        type_ = tensor.type.with_(shape=shapes[0])
        topology = TensorTopology(counts, tuple(placements), tuple(coords))
        return Tensor.of(type_, Contents(shards, None), None, topology)


def _parts(source: torch.Tensor, dim: int | None, count: int) -> list[tuple[int, int]]:
    """Returns the start and length of each part along a dimension; of a replicated tensor, ``count`` times all."""
    if dim is None:
        return [(0, -1)] * count
    size = source.shape[dim]
    length = max(1, -(-size // count))
    return [(start, min(length, size - start)) for start in range(0, size, length)]


class CppMeshToTensor:
    """Joins the shards of a tensor.

    Args:
        mesh: shape of the mesh.
        config: the dimensions along which shards are joined.
    """

    def __init__(self, mesh: MeshShape, config: MeshComposerConfig) -> None:
        self._mesh, self._config = mesh, config
        self._shape = _distribution(config, mesh, "dims", "dimensions")

    def join(self, tensor: Tensor) -> Tensor:
        """Returns the joined tensor on the host."""
        import torch

        shards = self._chosen(tensor)
        dims = _checked_dims(self._config.dims, shards[0].dim())
        for dim, count in reversed([*zip(dims, self._shape, strict=True)]):
            groups = (shards[start : start + count] for start in range(0, len(shards), count))
            shards = [group[0] if len(group) == 1 else torch.cat(list(group), dim) for group in groups]
        type_ = tensor.type.with_(shape=shards[0].shape, on_device=False)
        return Tensor.of(type_, Contents([shards[0]], None), None)

    def _chosen(self, tensor: Tensor) -> list[torch.Tensor]:
        """Returns the shards in the order of the distribution; all of a tensor that lies on fewer chips."""
        own, shards = tensor.coords(), list(tensor.contents.shards)
        wanted = mesh_places(self._shape, self._mesh, self._config.mesh_offset_override)
        by_place = dict(zip(own, shards, strict=True))
        found = [by_place[place] for place in wanted if place in by_place]
        if len(found) == len(wanted) or (self._shape.dims() == 1 and found):
            return found
        raise TTFatal(
            f"The tensor has shards on {len(own)} chips, and the composer takes {len(wanted)}",
            hint="Pass mesh_shape_override to MeshComposerConfig with the shape over which the tensor is distributed.",
        )


TensorToMesh, MeshToTensor = CppTensorToMesh, CppMeshToTensor

DEFAULTS: dict[str, Any] = {}
"""Mapper of ``from_torch`` and composer of ``to_torch`` within ``ttnn.distribute``, by the parameter's name."""


class ReplicateTensorToMeshWrapper:
    """A mapper that copies a tensor to every chip."""

    def __init__(self, mapper: CppTensorToMesh) -> None:
        self._mapper = mapper

    def unwrap(self) -> CppTensorToMesh:
        return self._mapper

    def split(self, tensor: Tensor) -> Tensor:
        """Returns the tensor on every chip."""
        return self._mapper.split(tensor)


@dataclass(frozen=True)
class DistributedHostBuffer:
    """The shards of a tensor on the host, at the places of their chips in the mesh."""

    tensor: Tensor

    def shape(self) -> MeshShape:
        """Returns the shape of the smallest box of the mesh that holds all shards."""
        coords = self.tensor.coords()
        return MeshShape([1 + max(each[axis] for each in coords) for axis in range(coords[0].dims())])

    def is_local(self, coord: MeshCoordinate) -> bool:
        return coord in self.tensor.coords()

    def get_shard(self, coord: MeshCoordinate) -> Any:
        """Returns the elements of the chip at a place as a NumPy array; None if it has none."""
        import torch

        coords = self.tensor.coords()
        if coord not in coords:
            return None
        shard = self.tensor.contents.shards[coords.index(coord)]
        return (shard.float() if shard.dtype is torch.bfloat16 else shard).numpy().copy()
