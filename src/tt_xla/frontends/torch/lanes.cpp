// A lane of each chip in PyTorch's profiler: kineto, the library inside it, asks its plug-ins for their activities.

#define FMT_HEADER_ONLY

#include <kineto/libkineto.h>
#include <kineto/output_base.h>

#include <atomic>
#include <mutex>

namespace {

struct Kernel {
  std::string name, op, source;
  int64_t start, end; // nanoseconds since the epoch
};

std::atomic<int> sessions{0};
std::mutex mutex;
std::vector<std::vector<Kernel>> lanes; // by chip

class Session : public libkineto::IActivityProfilerSession {
 public:
  Session(int chip, const std::string& device) : chip_(chip), device_(device) {}

  void start() override {
    const std::lock_guard<std::mutex> guard(mutex);
    lanes[chip_].clear();
    ++sessions;
  }

  void stop() override {
    --sessions;
  }

  std::vector<std::string> errors() override {
    return {};
  }

  void processTrace(libkineto::ActivityLogger& logger) override {
    const std::lock_guard<std::mutex> guard(mutex);
    for (const auto& kernel : lanes[chip_]) {
      buffer_->emplace_activity(buffer_->span, libkineto::ActivityType::CONCURRENT_KERNEL, kernel.name);
      auto& activity = *buffer_->activities.back();
      activity.startTime = kernel.start;
      activity.endTime = kernel.end;
      activity.device = chip_;
      activity.resource = 0;
      activity.addMetadataQuoted("op", kernel.op);
      activity.addMetadataQuoted("source", kernel.source);
      activity.log(logger);
    }
    lanes[chip_].clear();
  }

  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return std::unique_ptr<libkineto::DeviceInfo>(
        new libkineto::DeviceInfo{chip_, libkineto::kExceedMaxPid + chip_, device_, "predicted"});
  }

  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    return {{0, 0, chip_, "kernels"}};
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_);
  }

 private:
  int chip_;
  std::string device_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
};

class Profiler : public libkineto::IActivityProfiler {
 public:
  Profiler(int chip, std::string device) : chip_(chip), name_("tt"), device_(std::move(device)) {}

  [[nodiscard]] const std::string& name() const override {
    return name_;
  }

  [[nodiscard]] const std::set<libkineto::ActivityType>& availableActivities() const override {
    static const std::set<libkineto::ActivityType> kernels{libkineto::ActivityType::CONCURRENT_KERNEL};
    return kernels;
  }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<libkineto::ActivityType>& types, const libkineto::Config&) override {
    if (types.count(libkineto::ActivityType::CONCURRENT_KERNEL) == 0) {
      return nullptr;
    }
    return std::make_unique<Session>(chip_, device_);
  }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t, int64_t, const std::set<libkineto::ActivityType>& types, const libkineto::Config& config) override {
    return configure(types, config);
  }

 private:
  int chip_;
  std::string name_, device_;
};

} // namespace

extern "C" {

void add_chip(const char* device) {
  const std::lock_guard<std::mutex> guard(mutex);
  const int chip = static_cast<int>(lanes.size());
  lanes.emplace_back();
  const std::string name = device;
  libkineto::api().registerProfilerFactory([chip, name] { return std::make_unique<Profiler>(chip, name); });
}

int is_recording() {
  return sessions.load(std::memory_order_relaxed);
}

void add_kernel(int chip, const char* name, const char* op, const char* source, int64_t start, int64_t end) {
  const std::lock_guard<std::mutex> guard(mutex);
  if (chip < static_cast<int>(lanes.size())) { // a system that was selected later may have more chips
    lanes[chip].push_back({name, op, source, start, end});
  }
}
}
