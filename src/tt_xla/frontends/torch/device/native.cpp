// Kernels of the device for few integers that the host has: they compute on the CPU without a call of Python but for
// the account of a result. What they do not take goes on to the kernels in Python, which have the key PrivateUse2 here.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/library.h>

#include <atomic>
#include <sstream>

// Whether the kernels compute, rather than go on to those in Python.
extern "C" {
bool tt_computes = true;
}

namespace {

constexpr auto DEVICE = c10::DeviceType::PrivateUse1;
constexpr int64_t ALIGNMENT = 64;

int64_t most_elements; // of an operand or a result
double most_pairs;     // product of the numbers of elements of all operands
PyObject *sessions, *buffer_class, *storage_class;
PyObject *s_current, *s_chips, *s_splits_tensors, *s_counters, *s_tt_buffer, *s_host, *s_value, *s_mark_written, *s_class;
// Addresses of storages, which nobody reads; those that Python hands out begin behind them.
std::atomic<uint64_t> next_address{uint64_t{1} << 45};

struct Interpreter { // held while Python's objects are read
  PyGILState_STATE state = PyGILState_Ensure();
  ~Interpreter() { PyGILState_Release(state); }
};

struct Object { // a reference to an object of Python, or none
  PyObject* at;
  explicit Object(PyObject* owned) : at(owned) {}
  Object(const Object&) = delete;
  ~Object() { Py_XDECREF(at); }
};

Object attribute(PyObject* owner, PyObject* name) {
  PyObject* const found = owner ? PyObject_GetAttr(owner, name) : nullptr;
  if (!found) PyErr_Clear();
  return Object(found);
}

PyObject* checked(PyObject* result) {
  if (!result) throw python_error();
  return result;
}

bool is_integer(c10::ScalarType type) {
  return c10::isIntegralType(type, /*includeBool=*/true) && type <= c10::ScalarType::Bool;
}

Object buffer_of(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return Object(nullptr);
  const Object storage(THPStorage_Wrap(tensor.storage()));
  if (!storage.at) PyErr_Clear();
  if (!storage.at || Py_TYPE(storage.at) != (PyTypeObject*)storage_class) return Object(nullptr);
  return attribute(storage.at, s_tt_buffer);
}

// A tensor of the CPU over the elements of a tensor of the device; an undefined one if the host does not have them.
at::Tensor alias_of(const at::Tensor& tensor, PyObject* buffer) {
  const Object host = attribute(buffer, s_host);
  if (!host.at || !THPVariable_Check(host.at)) return {};
  const at::Tensor& held = THPVariable_Unpack(host.at);
  if (!held.has_storage()) return {};
  const auto needed = at::detail::computeStorageNbytes(
      tensor.sizes(), tensor.strides(), tensor.itemsize(), tensor.storage_offset());
  if (needed > held.storage().nbytes()) return {};
  auto alias = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(held.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return alias;
}

// A tensor of a chip that takes over the memory of a tensor of the CPU, which it fills.
at::Tensor lifted(const at::Tensor& host, c10::Device device) {
  const uint64_t nbytes = host.nbytes();
  void* const address = (void*)next_address.fetch_add((nbytes / ALIGNMENT + 1) * ALIGNMENT);
  auto tensor = at::for_blob(address, host.sizes())
                    .strides(host.strides())
                    .options(host.options().device(device))
                    .target_device(device)
                    .make_tensor();
  const Object storage(checked(THPStorage_Wrap(tensor.storage())));
  const Object python_host(checked(THPVariable_Wrap(host)));
  const Object size(checked(PyLong_FromUnsignedLongLong(nbytes))), chip(checked(PyLong_FromLong(device.index())));
  const Object buffer(
      checked(PyObject_CallFunctionObjArgs(buffer_class, python_host.at, Py_None, size.at, chip.at, nullptr)));
  if (PyObject_SetAttr(storage.at, s_class, storage_class) || PyObject_SetAttr(storage.at, s_tt_buffer, buffer.at))
    throw python_error();
  return tensor;
}

void count(PyObject* session, const std::string& name) {
  const Object counters = attribute(session, s_counters);
  const Object key(checked(PyUnicode_FromStringAndSize(name.data(), (Py_ssize_t)name.size())));
  const Object before(checked(PyObject_GetItem(counters.at, key.at))), one(checked(PyLong_FromLong(1)));
  const Object after(checked(PyNumber_Add(before.at, one.at)));
  if (PyObject_SetItem(counters.at, key.at, after.at)) throw python_error();
}

bool splits_tensors(PyObject* session) {
  const Object chips = attribute(session, s_chips), splits = attribute(chips.at, s_splits_tensors);
  return splits.at != Py_False;
}

// What is known of the arguments of an op before any tensor is read.
struct Arguments {
  std::optional<c10::Device> device;
  int tensors = 0;
  double pairs = 1;

  bool takes(const at::Tensor& tensor) {
    if (!tensor.defined()) return true;
    if (!is_integer(tensor.scalar_type()) || tensor.numel() > most_elements) return false;
    if (tensor.device().is_cpu()) return !tensor.dim(); // mixes with tensors of any device
    ++tensors;
    pairs *= (double)tensor.numel();
    return takes(tensor.device());
  }

  bool takes(c10::Device other) {
    if (other.type() != DEVICE || !other.has_index() || (device && *device != other)) return false;
    device = other;
    return true;
  }

  bool takes(const c10::Argument& argument, const c10::IValue& value) {
    if (value.isTensor()) return takes(value.toTensor());
    if (value.isDevice()) return takes(value.toDevice());
    if (value.isInt()) return argument.name() != "dtype" || is_integer((c10::ScalarType)value.toInt());
    if (value.isIntList()) {
      double elements = 1;
      for (const int64_t size : value.toIntVector()) elements *= (double)size;
      return std::abs(elements) <= (double)most_elements;
    }
    if (value.isList()) {
      for (const c10::IValue& item : value.toListRef())
        if (!(item.isNone() || (item.isTensor() && takes(item.toTensor())))) return false;
      return true;
    }
    return value.isNone() || value.isBool() || value.isString();
  }
};

// Whether the numbers that a range begins with make a short one.
bool is_short_range(const std::vector<c10::IValue>& values, size_t first) {
  int64_t bounds[2] = {0, 0};
  size_t count = 0;
  while (count < 2 && first + count < values.size() && values[first + count].isInt()) {
    bounds[count] = values[first + count].toInt();
    ++count;
  }
  return count && std::abs((double)bounds[1] - (double)bounds[0]) <= (double)most_elements;
}

// Replaces tensors of the device by aliases; returns whether the host has them all.
bool has_aliases(c10::IValue& value, std::vector<const void*>& memory) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return true;
    at::Tensor alias = tensor;
    if (!tensor.device().is_cpu()) {
      alias = alias_of(tensor, buffer_of(tensor).at);
      if (!alias.defined()) return false;
    }
    memory.push_back(alias.const_data_ptr());
    value = std::move(alias);
  } else if (value.isDevice()) {
    value = c10::Device(c10::kCPU);
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> hosts;
    for (const c10::IValue& item : value.toListRef()) {
      c10::IValue host = item;
      if (!has_aliases(host, memory)) return false;
      hosts.push_back(host.toTensor());
    }
    value = std::move(hosts);
  } else if (value.isList() && !value.isIntList()) {
    c10::List<std::optional<at::Tensor>> hosts;
    for (const c10::IValue& item : value.toListRef()) {
      c10::IValue host = item;
      if (!has_aliases(host, memory)) return false;
      hosts.push_back(host.isNone() ? std::optional<at::Tensor>() : std::optional(host.toTensor()));
    }
    value = std::move(hosts);
  }
  return true;
}

bool is_computed(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& schema = op.schema();
  const size_t count_of_arguments = schema.arguments().size(), first = stack.size() - count_of_arguments;
  Arguments known;
  for (size_t i = 0; i < count_of_arguments; ++i)
    if (!known.takes(schema.arguments()[i], stack[first + i])) return false;
  if (!known.device || (known.tensors > 1 && known.pairs > most_pairs)) return false;
  if (schema.name() == "aten::arange" && !is_short_range(stack, first)) return false;
  const Interpreter held;
  const Object session = attribute(sessions, s_current);
  if (splits_tensors(session.at)) return false;
  torch::jit::Stack hosts(stack.begin() + (ptrdiff_t)first, stack.end());
  std::vector<const void*> memory;
  for (c10::IValue& value : hosts)
    if (!has_aliases(value, memory)) return false;
  try {
    const at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &hosts);
  } catch (const std::exception&) {
    return false; // recording it raises what the user is to see
  }
  if (hosts.size() != 1 || !hosts[0].isTensor()) return false;
  at::Tensor result = hosts[0].toTensor();
  if (!is_integer(result.scalar_type()) || !result.numel()) return false;
  const bool shares = std::find(memory.begin(), memory.end(), result.const_data_ptr()) != memory.end();
  if (shares || result.storage().nbytes() != result.nbytes()) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    result = result.clone(at::MemoryFormat::Contiguous);
  }
  at::Tensor tensor = lifted(result, *known.device);
  if (schema.name() != "aten::clone") // which is no op of its own in Python, but an empty tensor and a copy
    count(session.at, "xla::" + schema.name().substr(schema.name().find("::") + 2));
  torch::jit::drop(stack, count_of_arguments);
  stack.emplace_back(std::move(tensor));
  return true;
}

void go_on(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse2), stack);
}

// An op that computes one new tensor of integers.
void computes(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  if (!tt_computes || !is_computed(op, *stack)) go_on(op, stack);
}

// _copy_from(source, target): between tensors of one shape and chip, where no recorded op reads the target.
bool is_copied(torch::jit::Stack& stack) {
  const size_t first = stack.size() - 3;
  const at::Tensor source = stack[first].toTensor(), target = stack[first + 1].toTensor();
  Arguments known;
  if (!known.takes(source) || !known.takes(target) || known.tensors != 2 || source.sizes() != target.sizes())
    return false;
  const Interpreter held;
  if (splits_tensors(attribute(sessions, s_current).at)) return false;
  const Object buffer = buffer_of(target), value = attribute(buffer.at, s_value);
  if (value.at != Py_None) return false;
  const at::Tensor from = alias_of(source, buffer_of(source).at), to = alias_of(target, buffer.at);
  if (!from.defined() || !to.defined()) return false;
  try {
    const at::AutoDispatchBelowADInplaceOrView guard;
    to.copy_(from);
  } catch (const std::exception&) {
    return false;
  }
  const Object done(checked(PyObject_CallMethodNoArgs(buffer.at, s_mark_written)));
  torch::jit::drop(stack, 3);
  stack.emplace_back(target);
  return true;
}

void copies(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  if (!tt_computes || !is_copied(*stack)) go_on(op, stack);
}

// PyTorch's own kernel of a view, which computes sizes and strides and shares the storage.
void views(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

void views_as_strided(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
}

struct Quiet : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

} // namespace

// Registers the kernels. `kernels` has lines of a name and a kind; the limits are those of device/integers.py.
extern "C" void tt_register(
    PyObject* session_module, PyObject* buffers, PyObject* storages, const char* kernels, long elements, long pairs) {
  sessions = Py_NewRef(session_module);
  buffer_class = Py_NewRef(buffers);
  storage_class = Py_NewRef(storages);
  most_elements = elements;
  most_pairs = (double)pairs;
  const std::pair<PyObject**, const char*> names[] = {
      {&s_current, "current"}, {&s_chips, "chips"}, {&s_splits_tensors, "splits_tensors"}, {&s_counters, "counters"},
      {&s_tt_buffer, "tt_buffer"}, {&s_host, "_host"}, {&s_value, "_value"}, {&s_mark_written, "mark_written"},
      {&s_class, "__class__"}};
  for (const auto& [name, text] : names) *name = PyUnicode_InternFromString(text);
  Quiet quiet; // PyTorch warns of a kernel in the place of another one
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  static auto* const library = new torch::Library( // PyTorch takes kernels back with it
      torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  std::istringstream lines(kernels);
  for (std::string name, kind; lines >> name >> kind;) {
    if (kind == "computes") library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&computes>());
    else if (kind == "copies") library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&copies>());
    else if (kind == "views") library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&views>());
    else library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&views_as_strided>());
  }
}
