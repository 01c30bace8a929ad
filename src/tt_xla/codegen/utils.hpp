// Helpers of a generated program: they load tensors, print results, count rounds of loops and choose branches.

#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "ttnn.hpp"

namespace utils {

using Weights = std::map<std::string, ttnn::Tensor>;
using Branch = std::function<std::vector<ttnn::Tensor>(ttnn::MeshDevice*, std::vector<ttnn::Tensor>)>;

inline std::filesystem::path file_of(const std::string& name) {
    return std::filesystem::path(TENSORS) / (name + ".tensorbin");
}

inline bool is_integer(ttnn::DataType dtype) {
    return dtype == ttnn::DataType::INT32 || dtype == ttnn::DataType::UINT32 || dtype == ttnn::DataType::UINT16 ||
           dtype == ttnn::DataType::UINT8;
}

// Returns a host tensor of these elements, stored as T.
template <typename T>
ttnn::Tensor host_tensor(const std::vector<double>& elements, const ttnn::Shape& shape, ttnn::DataType dtype, ttnn::Layout layout) {
    const tt::tt_metal::TensorLayout form(dtype, tt::tt_metal::PageConfig(layout), ttnn::MemoryConfig{});
    return ttnn::Tensor::from_vector(std::vector<T>(elements.begin(), elements.end()), ttnn::TensorSpec(shape, form));
}

// Returns a host tensor of these elements in a data type.
inline ttnn::Tensor host_tensor_of(
    const std::vector<double>& elements, const ttnn::Shape& shape, ttnn::DataType dtype, ttnn::Layout layout) {
    switch (dtype) {
        case ttnn::DataType::INT32: return host_tensor<int32_t>(elements, shape, dtype, layout);
        case ttnn::DataType::UINT32: return host_tensor<uint32_t>(elements, shape, dtype, layout);
        case ttnn::DataType::UINT16: return host_tensor<uint16_t>(elements, shape, dtype, layout);
        case ttnn::DataType::UINT8: return host_tensor<uint8_t>(elements, shape, dtype, layout);
        default: return host_tensor<float>(elements, shape, dtype, layout);
    }
}

inline ttnn::Tensor tensor(const std::vector<double>& elements, ttnn::DataType dtype, ttnn::Layout layout) {
    return host_tensor_of(elements, ttnn::Shape({static_cast<uint32_t>(elements.size())}), dtype, layout);
}

inline ttnn::Tensor full(double value, const ttnn::Shape& shape, ttnn::DataType dtype, ttnn::Layout layout) {
    return host_tensor_of(std::vector<double>(shape.volume(), value), shape, dtype, layout);
}

// Returns ones in place of an argument that was not stored.
inline ttnn::Tensor ones(
    const std::string& /*name*/,
    const ttnn::Shape& shape,
    ttnn::DataType dtype,
    ttnn::Layout layout,
    ttnn::MeshDevice* device = nullptr,
    const std::optional<ttnn::MemoryConfig>& memory_config = std::nullopt) {
    return device == nullptr ? full(1, shape, dtype, layout) : ttnn::ones(shape, dtype, layout, *device, memory_config);
}

// Returns the elements of a tensor as numbers; of several chips, those of the first one.
inline std::vector<double> elements_of(const ttnn::Tensor& tensor) {
    const auto host = ttnn::distributed::get_device_tensors(tensor.cpu()).at(0);
    const auto wide = [](const auto& elements) { return std::vector<double>(elements.begin(), elements.end()); };
    switch (host.dtype()) {
        case ttnn::DataType::INT32: return wide(host.to_vector<int32_t>());
        case ttnn::DataType::UINT32: return wide(host.to_vector<uint32_t>());
        case ttnn::DataType::UINT16: return wide(host.to_vector<uint16_t>());
        case ttnn::DataType::UINT8: return wide(host.to_vector<uint8_t>());
        default: return wide(host.to_vector<float>());
    }
}

inline std::vector<uint32_t> sizes_of(const ttnn::Shape& shape) {
    std::vector<uint32_t> sizes;
    for (uint32_t size : shape) {
        sizes.push_back(size);
    }
    return sizes;
}

// Returns row-major elements in another shape of the same rank: each dimension is cut at its end, or gets zeros there.
inline std::vector<double> resized(
    const std::vector<double>& elements, const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
    std::size_t volume = 1;
    for (uint32_t size : after) {
        volume *= size;
    }
    std::vector<double> results(volume);
    for (std::size_t place = 0; place < volume; ++place) {
        std::size_t rest = place, stride = 1, source = 0;
        bool inside = true;
        for (std::size_t dim = after.size(); dim-- > 0;) {
            const std::size_t index = rest % after[dim];
            rest /= after[dim];
            inside = inside && index < before[dim];
            source += index * stride;
            stride *= before[dim];
        }
        if (inside) {
            results[place] = elements[source];
        }
    }
    return results;
}

// Returns a stored tensor, on the host if no memory config is passed. With a mapper, each chip gets its shard.
// A padded shape is what the tensor is filled up to with zeros, so that it divides evenly over the chips.
inline ttnn::Tensor load(
    const std::string& name,
    ttnn::DataType dtype,
    ttnn::Layout layout,
    ttnn::MeshDevice* device = nullptr,
    const std::optional<ttnn::MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ttnn::distributed::MeshMapperConfig>& mapper = std::nullopt,
    const std::optional<ttnn::Shape>& padded = std::nullopt) {
    if (!std::filesystem::exists(file_of(name))) {
        throw std::runtime_error(file_of(name).string() + " is missing: generate the program again with export_tensors.");
    }
    auto tensor = ttnn::load_tensor_flatbuffer(file_of(name).string(), nullptr);
    if (padded) {
        const auto elements = resized(elements_of(tensor), sizes_of(tensor.logical_shape()), sizes_of(*padded));
        tensor = host_tensor_of(elements, *padded, dtype, layout);
    } else {
        tensor = ttnn::to_layout(tensor, layout);
        tensor = tensor.dtype() == dtype ? tensor : ttnn::to_dtype(tensor, dtype);
    }
    if (mapper) {
        tensor = ttnn::distributed::distribute_tensor(tensor, *ttnn::distributed::create_mesh_mapper(*device, *mapper));
    }
    return memory_config ? ttnn::to_device(tensor, device, memory_config) : tensor;
}

// Returns the tensor that chips hold in shards, on the host. The composer joins the shards and stacks replicas along new
// first dimensions; without one, every chip holds all of the tensor.
inline ttnn::Tensor composed(
    const ttnn::Tensor& tensor,
    ttnn::MeshDevice* device = nullptr,
    const std::optional<ttnn::distributed::MeshComposerConfig>& composer = std::nullopt,
    uint32_t replicas = 0,
    const std::optional<ttnn::Shape>& shape = std::nullopt) {
    if (!composer) {
        return ttnn::distributed::get_device_tensors(tensor.cpu()).at(0);
    }
    auto host = ttnn::to_layout(tensor.cpu(), ttnn::Layout::ROW_MAJOR);
    ttnn::SmallVector<uint32_t> sizes(replicas, 1);
    for (uint32_t size : host.logical_shape()) {
        sizes.push_back(size);
    }
    host = ttnn::reshape(host, ttnn::Shape(sizes));
    host = ttnn::distributed::aggregate_tensor(host, *ttnn::distributed::create_mesh_composer(*device, *composer));
    auto joined_sizes = sizes_of(host.logical_shape());
    joined_sizes.erase(joined_sizes.begin(), joined_sizes.begin() + replicas);  // the first of the replicas
    const auto elements = resized(elements_of(host), joined_sizes, sizes_of(*shape));  // without the padding of shards
    return host_tensor_of(
        elements, *shape, is_integer(host.dtype()) ? host.dtype() : ttnn::DataType::FLOAT32, ttnn::Layout::ROW_MAJOR);
}

// Opens the chips of a mesh as one device: the chip at each position, or chips that TT-NN finds.
inline std::shared_ptr<ttnn::MeshDevice> open_mesh_device(
    uint32_t rows, uint32_t columns, std::size_t l1_small_bytes, const std::vector<int>& chips = {}) {
    return ttnn::distributed::open_mesh_device(
        ttnn::MeshShape(rows, columns), l1_small_bytes, 0, 1, tt::tt_metal::DispatchCoreConfig{}, std::nullopt, chips);
}

// Returns the only element of a tensor as a number.
inline double scalar(const ttnn::Tensor& tensor) { return elements_of(tensor).at(0); }

// Returns the number of rounds of a counted loop: the length of Python's range(first, limit, step).
inline int64_t rounds(int64_t first, int64_t limit, int64_t step) {
    if (step == 0) {
        throw std::invalid_argument("A counted loop has step 0.");
    }
    if (step > 0) {
        return first < limit ? (limit - first - 1) / step + 1 : 0;
    }
    return first > limit ? (first - limit - 1) / -step + 1 : 0;
}

// Returns the branch whose number a tensor holds; the last branch for numbers out of range.
inline Branch pick(const ttnn::Tensor& index, const std::vector<Branch>& branches) {
    const auto number = static_cast<int64_t>(scalar(index));
    const auto last = static_cast<int64_t>(branches.size()) - 1;
    return branches.at(number >= 0 && number <= last ? number : last);
}

// Returns the weights of one module by their names in the module, and constants, which belong to no module.
inline Weights under(const Weights& weights, const std::string& module) {
    Weights selected;
    for (const auto& [name, tensor] : weights) {
        if (name.starts_with(module)) {
            selected.insert_or_assign(name.substr(module.size()), tensor);
        } else if (name.find_first_of(".[") == std::string::npos) {
            selected.emplace(name, tensor);
        }
    }
    return selected;
}

// Returns two lists of tensors as one.
inline std::vector<ttnn::Tensor> joined(std::vector<ttnn::Tensor> first, const std::vector<ttnn::Tensor>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

// Returns the Pearson correlation; 1 if both are equal, 0 if one of them is constant.
inline double pcc(const std::vector<double>& actual, const std::vector<double>& expected) {
    if (actual == expected) {
        return 1.0;
    }
    double mean_actual = 0, mean_expected = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
        mean_actual += actual[i] / actual.size();
        mean_expected += expected[i] / actual.size();
    }
    double product = 0, square_actual = 0, square_expected = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
        product += (actual[i] - mean_actual) * (expected[i] - mean_expected);
        square_actual += (actual[i] - mean_actual) * (actual[i] - mean_actual);
        square_expected += (expected[i] - mean_expected) * (expected[i] - mean_expected);
    }
    return square_actual > 0 && square_expected > 0 ? product / std::sqrt(square_actual * square_expected) : 0.0;
}

// Returns the number of calls that the command line asks for by `--steps N`; each takes results of the one before, such
// as a cache, in place of its inputs.
inline size_t step_count(int argc, char** argv) {
    if (argc == 1) {
        return 1;
    }
    const int count = argc == 3 && std::string(argv[1]) == "--steps" ? std::atoi(argv[2]) : 0;
    if (count < 1) {
        std::cerr << "usage: run [--steps N], with a number of calls N from 1 on\n";
        std::exit(2);
    }
    return static_cast<size_t>(count);
}

// Prints the first elements of each result, and its correlation with the expected result if that is of this call.
inline void show(const std::vector<ttnn::Tensor>& results, bool is_expected = true) {
    for (size_t index = 0; index < results.size(); ++index) {
        const auto elements = elements_of(results[index]);
        std::cout << "result " << index << ": " << elements.size() << " elements\n";
        for (size_t i = 0; i < std::min<size_t>(elements.size(), 8); ++i) {
            std::cout << (i ? ", " : "[") << elements[i];
        }
        std::cout << (elements.size() > 8 ? ", ...]\n" : elements.empty() ? "[]\n" : "]\n");
        const auto expected = "expected" + std::to_string(index);
        if (is_expected && std::filesystem::exists(file_of(expected))) {
            const auto stored = elements_of(ttnn::load_tensor_flatbuffer(file_of(expected).string(), nullptr));
            std::cout << "PCC against " << file_of(expected).string() << ": " << pcc(elements, stored) << "\n";
        }
    }
}

}  // namespace utils
