"""Prints the type and topology of each result on a mesh, or that a call failed, of the real ``ttnn`` and of ours."""

import numpy
import ttnn

CALLS = """
ttnn.exp(split)
ttnn.add(split, narrow)
ttnn.add(narrow, split)
ttnn.add(grid, columns)
ttnn.matmul(grid, weights)
ttnn.reshape(split, (64, 64))
ttnn.zeros([32, 32], device=mesh, layout=ttnn.TILE_LAYOUT)
ttnn.from_device(split)
ttnn.all_gather(grid, dim=3, cluster_axis=0)
ttnn.all_gather(grid, dim=-1, cluster_axis=1)
ttnn.all_gather(grid, dim=3, cluster_axis=1, memory_config=ttnn.L1_MEMORY_CONFIG)
ttnn.all_gather(grid, dim=3)
ttnn.all_gather(grid, dim=7)
ttnn.reduce_scatter(same, dim=3, cluster_axis=0)
ttnn.reduce_scatter(same, dim=3)
ttnn.all_reduce(same, cluster_axis=1)
ttnn.all_reduce(same)
ttnn.all_broadcast(grid, cluster_axis=1)[1]
ttnn.all_broadcast(grid)[3]
ttnn.broadcast(grid, ttnn.MeshCoordinate(0, 0), cluster_axis=0)
ttnn.broadcast(grid, ttnn.MeshCoordinate(0, 0))
ttnn.mesh_partition(same, dim=3, cluster_axis=1)
ttnn.mesh_partition(same, dim=3)
ttnn.experimental.all_to_all_async_generic(grid, in_dim=2, out_dim=3, cluster_axis=0)
ttnn.point_to_point(grid, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(0, 1))
ttnn.point_to_point(grid, ttnn.MeshCoordinate(0, 0), ttnn.MeshCoordinate(1, 1))
ttnn.get_device_tensors(split)[2]
ttnn.exp(ttnn.get_device_tensors(split)[1])
ttnn.combine_device_tensors(tensors=ttnn.get_device_tensors(split)[:2])
ttnn.combine_device_tensors(tensors=ttnn.get_device_tensors(ttnn.from_device(split)))
ttnn.from_host_shards([rows] * 4, ttnn.MeshShape(2, 2))
ttnn.from_host_shards([rows] * 3, ttnn.MeshShape(2, 2))
ttnn.distribute_tensor(rows, ttnn.ShardTensorToMesh(mesh, dim=1))
ttnn.distribute_tensor(rows, ttnn.ShardTensorToMesh(mesh, dim=-2))
ttnn.distribute_tensor(seven, ttnn.ShardTensorToMesh(mesh, dim=0))
ttnn.distribute_tensor(rows, ttnn.ShardTensorToMesh(mesh, dim=5))
ttnn.distribute_tensor(rows, ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(None, None)))
ttnn.distribute_tensor(rows, ttnn.ShardTensor2dMesh(mesh, mesh_shape=(4, 1), dims=(0, None)))
ttnn.distribute_tensor(rows, mapper([ttnn.PlacementShard(0)], ttnn.MeshShape([4])))
ttnn.distribute_tensor(rows, mapper([ttnn.PlacementShard(0)], ttnn.MeshShape([2])))
ttnn.distribute_tensor(rows, mapper([ttnn.PlacementShard(0), ttnn.PlacementShard(1)], ttnn.MeshShape(1, 2)))
ttnn.distribute_tensor(rows, mapper([ttnn.PlacementShard(0), ttnn.PlacementShard(0)]))
mapper([ttnn.PlacementShard(0)], ttnn.MeshShape([8]))
mapper([ttnn.PlacementShard(0)])
ttnn.aggregate_tensor(grid, ttnn.ConcatMeshToTensor(mesh, dim=0))
ttnn.aggregate_tensor(grid, ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=(2, 2), dims=(2, 3)))
ttnn.aggregate_tensor(grid, ttnn.create_mesh_composer(mesh, ttnn.MeshComposerConfig([0], ttnn.MeshShape([2]))))
ttnn.aggregate_tensor(grid, ttnn.create_mesh_composer(mesh, ttnn.MeshComposerConfig([0, 0])))
mesh.create_submesh(ttnn.MeshShape(3, 2))
""".strip().splitlines()


def shown(value):
    """Returns the type and topology of a tensor as text."""
    topology = value.tensor_topology()
    return (
        f"{list(value.shape)} {value.dtype} {value.layout} {value.memory_config().buffer_type} "
        f"{topology.placements()} {topology.distribution_shape()} {topology.mesh_coords()}"
    )


def main():
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
    print(f"ttnn.mesh {mesh} {mesh.get_device_ids()} {mesh.get_device_id(ttnn.MeshCoordinate(1, 0))}")
    print(f"ttnn.parts {[part.get_device_ids() for part in mesh.create_submeshes(ttnn.MeshShape(2, 1))]}")

    def on_mesh(shape, mapper):
        host = ttnn.Tensor(numpy.ones(shape, numpy.float32), data_type=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
        return ttnn.to_device(ttnn.distribute_tensor(host, mapper), mesh)

    def in_rows(shape):
        return ttnn.Tensor(numpy.ones(shape, numpy.float32), data_type=ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT)

    replicate = ttnn.replicate_tensor_to_mesh_mapper(mesh)
    names = {
        "mesh": mesh,
        "mapper": lambda *fields: ttnn.create_mesh_mapper(mesh, ttnn.MeshMapperConfig(*fields)),
        "same": on_mesh((1, 1, 64, 256), replicate),
        "narrow": on_mesh((1, 1, 64, 64), replicate),
        "split": on_mesh((1, 1, 64, 256), ttnn.shard_tensor_to_mesh_mapper(mesh, 3)),
        "grid": on_mesh((1, 1, 64, 256), ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(2, 3))),
        "columns": on_mesh((1, 1, 32, 256), ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(None, 3))),
        "weights": on_mesh((256, 64), ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 2), dims=(None, 0))),
        "rows": in_rows((8, 6)),
        "seven": in_rows((7, 6)),
    }
    for call in CALLS:
        try:
            result = eval(call, {"ttnn": ttnn, **names})
            print(f"ttnn.{call}: {shown(result) if isinstance(result, ttnn.Tensor) else 'ok'}")
        except Exception as error:
            print(f"ttnn.{call}: {'TypeError' if isinstance(error, TypeError) else 'RuntimeError'}")


if __name__ == "__main__":
    main()
