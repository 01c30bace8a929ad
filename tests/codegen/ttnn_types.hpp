// The types of TT-NN that generated C++ names, as far as it uses them; functions are declared from the table.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace ttsl {
template <typename T, std::size_t N = 8>
struct SmallVector;
}  // namespace ttsl
namespace tt {
struct xy_pair {
    xy_pair(std::size_t x, std::size_t y);
};
namespace tt_metal {
enum class DataType { BFLOAT16, FLOAT32, UINT32, BFLOAT8_B, BFLOAT4_B, UINT8, UINT16, INT32 };
enum class Layout { ROW_MAJOR, TILE };
enum class BufferType { DRAM, L1 };
enum class TensorMemoryLayout { INTERLEAVED, HEIGHT_SHARDED, WIDTH_SHARDED, BLOCK_SHARDED };
enum class ShardOrientation { ROW_MAJOR, COL_MAJOR };
enum class MathFidelity { LoFi, HiFi2, HiFi3, HiFi4 };
struct CoreRange {
    CoreRange(const xy_pair&, const xy_pair&);
};
struct CoreRangeSet {
    CoreRangeSet();
    explicit CoreRangeSet(const std::vector<CoreRange>&);
};
struct ShardSpec {
    ShardSpec(const CoreRangeSet&, const std::array<uint32_t, 2>&, ShardOrientation);
};
struct MemoryConfig {
    MemoryConfig();
    MemoryConfig(TensorMemoryLayout, BufferType, std::optional<ShardSpec> = std::nullopt);
};
struct Shape {
    explicit Shape(std::initializer_list<uint32_t>);
    explicit Shape(const ttsl::SmallVector<uint32_t>&);
    const uint32_t* begin() const;
    const uint32_t* end() const;
    uint64_t volume() const;
};
struct Tile {};
struct PageConfig {
    PageConfig(Layout);
};
struct TensorLayout {
    TensorLayout(DataType, const PageConfig&, const MemoryConfig&);
};
struct TensorSpec {
    TensorSpec(Shape, TensorLayout);
};
struct SubDeviceIdTag {};
namespace distributed {
class MeshDevice;
}  // namespace distributed
struct DispatchCoreConfig {};
}  // namespace tt_metal
}  // namespace tt
namespace ttsl {
template <typename T, typename Tag>
struct StrongType {};
template <typename T, std::size_t N>
struct SmallVector {
    SmallVector(std::initializer_list<T>);
    SmallVector(std::size_t, const T&);
    void push_back(const T&);
};
}  // namespace ttsl
namespace tt::tt_metal {
using SubDeviceId = ttsl::StrongType<uint8_t, SubDeviceIdTag>;
namespace distributed {
struct MeshShape {
    MeshShape(uint32_t, uint32_t);
    explicit MeshShape(const ttsl::SmallVector<uint32_t>&);
};
struct MeshCoordinate {
    MeshCoordinate(uint32_t, uint32_t);
};
struct MeshMapperConfig {
    struct Replicate {};
    struct Shard {
        int dim = 0;
    };
    using Placement = std::variant<Replicate, Shard>;
    ttsl::SmallVector<Placement> placements;
    std::optional<MeshShape> mesh_shape_override = std::nullopt;
};
struct MeshComposerConfig {
    ttsl::SmallVector<int> dims;
    std::optional<MeshShape> mesh_shape_override = std::nullopt;
};
}  // namespace distributed
}  // namespace tt::tt_metal
namespace tt::tt_fabric {
enum class Topology { Linear, Ring };
enum class FabricConfig { DISABLED, FABRIC_1D, FABRIC_1D_RING };
enum class FabricReliabilityMode { STRICT };
void SetFabricConfig(FabricConfig, FabricReliabilityMode = FabricReliabilityMode::STRICT);
}  // namespace tt::tt_fabric
namespace ttnn {
using ttsl::SmallVector;
using tt::tt_metal::BufferType;
using tt::tt_metal::CoreRange;
using tt::tt_metal::CoreRangeSet;
using tt::tt_metal::DataType;
using tt::tt_metal::Layout;
using tt::tt_metal::MemoryConfig;
using tt::tt_metal::Shape;
using tt::tt_metal::TensorMemoryLayout;
using tt::tt_metal::TensorSpec;
using CoreCoord = tt::xy_pair;
using tt::tt_metal::distributed::MeshCoordinate;
using tt::tt_metal::distributed::MeshDevice;
using tt::tt_metal::distributed::MeshShape;
namespace types {
struct CoreGrid {
    CoreGrid(std::size_t x, std::size_t y);
};
}  // namespace types
using types::CoreGrid;
inline const MemoryConfig DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG;
struct QueueIdTag {};
using QueueId = ttsl::StrongType<uint8_t, QueueIdTag>;
struct ComputeKernelConfig {
    tt::tt_metal::MathFidelity math_fidelity;
    bool math_approx_mode, fp32_dest_acc_en, packer_l1_acc, dst_full_sync_en;
};
class Tensor {
public:
    DataType dtype() const;
    const Shape& logical_shape() const;
    Tensor();
    Tensor cpu(bool blocking = true) const;
    template <typename T>
    static Tensor from_vector(std::vector<T>&&, const TensorSpec&, MeshDevice* = nullptr);
    template <typename T>
    std::vector<T> to_vector() const;
};
Tensor load_tensor_flatbuffer(const std::string&, MeshDevice*);
namespace distributed {
using tt::tt_metal::distributed::MeshComposerConfig;
using tt::tt_metal::distributed::MeshMapperConfig;
class TensorToMesh {};
class MeshToTensor {};
std::unique_ptr<TensorToMesh> create_mesh_mapper(MeshDevice&, const MeshMapperConfig&);
std::unique_ptr<MeshToTensor> create_mesh_composer(MeshDevice&, const MeshComposerConfig&);
Tensor distribute_tensor(const Tensor&, const TensorToMesh&);
Tensor aggregate_tensor(const Tensor&, const MeshToTensor&);
std::vector<Tensor> get_device_tensors(const Tensor&);
std::shared_ptr<MeshDevice> open_mesh_device(
    const MeshShape&, std::size_t, std::size_t, std::size_t, const tt::tt_metal::DispatchCoreConfig&,
    const std::optional<MeshCoordinate>& = std::nullopt, const std::vector<int>& = {});
void close_mesh_device(const std::shared_ptr<MeshDevice>&);
}  // namespace distributed
namespace device {
std::shared_ptr<MeshDevice> open_mesh_device(int, std::size_t = 0, std::size_t = 0, std::size_t = 1);
void close_device(MeshDevice&);
}  // namespace device
namespace operations {
namespace unary {
enum class UnaryOpType { UNARY_OP_TYPES };
enum class SigmoidMode { ACCURATE };
template <typename... T>
struct BasicUnaryWithParam {
    BasicUnaryWithParam(UnaryOpType);
    BasicUnaryWithParam(UnaryOpType, float);
    template <typename U>
        requires(sizeof...(T) > 1)
    BasicUnaryWithParam(const BasicUnaryWithParam<U>&);
};
using UnaryWithParam = BasicUnaryWithParam<float>;
using EltwiseUnaryWithParam = BasicUnaryWithParam<float, int, uint32_t>;
}  // namespace unary
namespace op_slicing {
struct Op2DSliceConfig {};
}  // namespace op_slicing
namespace transformer {
struct SDPAProgramConfig {};
}  // namespace transformer
namespace matmul {
struct MatmulMultiCoreProgramConfig {};
struct MatmulMultiCoreReuseProgramConfig {
    CoreCoord compute_with_storage_grid_size{0, 0};
    std::size_t in0_block_w, out_subblock_h, out_subblock_w, per_core_M, per_core_N;
};
struct MatmulMultiCoreReuseMultiCastProgramConfig : MatmulMultiCoreReuseProgramConfig {
    std::size_t out_block_h, out_block_w;
    bool transpose_mcast, fuse_batch;
    std::optional<unary::UnaryWithParam> fused_activation;
};
struct MatmulMultiCoreReuseMultiCast1DProgramConfig : MatmulMultiCoreReuseProgramConfig {
    std::size_t out_block_h, out_block_w, num_global_cb_receivers;
    bool fuse_batch, mcast_in0, gather_in0, untilize_out;
    std::optional<unary::UnaryWithParam> fused_activation;
};
struct MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig {
    std::size_t in0_block_w, per_core_M, per_core_N;
    std::optional<unary::UnaryWithParam> fused_activation;
};
struct MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig {};
using MatmulProgramConfig = std::variant<
    MatmulMultiCoreProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig,
    MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig>;
}  // namespace matmul
}  // namespace operations
enum class TileReshapeMapMode { CACHE };
namespace prim {
enum class EmbeddingsType { GENERIC };
struct LayerNormDefaultProgramConfig {};
struct LayerNormShardedMultiCoreProgramConfig {};
using LayerNormProgramConfig = std::variant<LayerNormDefaultProgramConfig, LayerNormShardedMultiCoreProgramConfig>;
struct Conv2dConfig {
    std::optional<DataType> weights_dtype;
    std::optional<operations::unary::UnaryWithParam> activation;
    bool deallocate_activation, reallocate_halo_output, reshard_if_not_optimal, override_sharding_config;
    bool transpose_shards, enable_act_double_buffer, enable_weights_double_buffer, full_inner_dim, in_place;
    bool enable_kernel_stride_folding, config_tensors_in_dram;
    uint32_t act_block_h_override, act_block_w_div;
    std::optional<TensorMemoryLayout> shard_layout;
    std::optional<CoreRangeSet> core_grid;
    Layout output_layout;
};
}  // namespace prim
}  // namespace ttnn
