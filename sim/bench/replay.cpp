// Plays a recorded run (recording.py) without Python: what software and peer did, at the core cycles at which they did it.
//
// `events` holds, in order, records of { uint64 cycle, uint32 kind, uint32 length, uint64 value } and `length` octets of data;
// `registers` holds records of { uint64 cycle, uint32 write, uint32 address, uint32 data, uint32 0 }. All little-endian.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

extern "C" {
void eb_mac_inject(int port, const std::uint8_t *data, std::uint32_t octets, std::uint64_t cycle, int bad_fcs);
void eb_mac_sink(int port);
std::uint64_t eb_mac_frames(int port);
std::uint64_t eb_mac_octets(int port);
std::uint8_t *eb_memory_buffer(int memory);
std::uint64_t eb_memory_bytes(int memory);
int eb_lane_file(int player, const char *path);
}

namespace {

enum Kind : std::uint32_t { kInject = 1, kInjectBad, kMemory, kLanes, kReset, kRate, kLinkHalf, kEnd };

struct Event {
    std::uint64_t cycle;
    std::uint32_t kind;
    std::uint32_t length;
    std::uint64_t value;
};

struct Access {
    std::uint64_t cycle;
    std::uint32_t write;
    std::uint32_t address;
    std::uint32_t data;
    std::uint32_t unused;
};

static_assert(sizeof(Event) == 24 && sizeof(Access) == 24, "records are read as they are written");

std::string folder;
std::FILE *events = nullptr;
std::FILE *registers = nullptr;
Event event;
Access access_;
bool have_event = false;
bool have_access = false;
bool failed = false;
std::vector<std::uint8_t> data;
std::chrono::steady_clock::time_point started;
std::clock_t started_cpu;

void next_event() {
    have_event = std::fread(&event, sizeof event, 1, events) == 1;
    if (!have_event) return;
    data.resize(event.length);
    have_event = std::fread(data.data(), 1, event.length, events) == event.length;
}

void next_access() { have_access = std::fread(&access_, sizeof access_, 1, registers) == 1; }

void finish(std::uint64_t cycle) {
    std::uint64_t expected[2] = {0, 0};
    if (data.size() == sizeof expected) std::memcpy(expected, data.data(), sizeof expected);
    const std::uint64_t frames = eb_mac_frames(0), octets = eb_mac_octets(0);
    failed = frames != expected[0] || octets != expected[1];
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const double cpu = static_cast<double>(std::clock() - started_cpu) / CLOCKS_PER_SEC;
    std::printf("{\"cycles\": %llu, \"wall_seconds\": %.6f, \"cpu_seconds\": %.6f, \"frames\": %llu, \"octets\": %llu, "
                "\"expected_frames\": %llu, \"expected_octets\": %llu}\n",
                static_cast<unsigned long long>(cycle), wall, cpu, static_cast<unsigned long long>(frames),
                static_cast<unsigned long long>(octets), static_cast<unsigned long long>(expected[0]),
                static_cast<unsigned long long>(expected[1]));
    std::fflush(stdout);
}

}  // namespace

extern "C" {

// Open the recording in a folder. Returns 0 if it is not there.
int eb_replay_open(const char *path) {
    folder = path;
    events = std::fopen((folder + "/events").c_str(), "rb");
    registers = std::fopen((folder + "/registers").c_str(), "rb");
    if (events == nullptr || registers == nullptr) return 0;
    eb_mac_sink(0);
    next_event();
    next_access();
    started = std::chrono::steady_clock::now();
    started_cpu = std::clock();
    return 1;
}

// Do what is due before core edge `cycle`. Sets what has changed of resets, line rate and link clock (-1: unchanged).
// Returns 0 while the recording goes on, 1 at its end, 2 if fewer or other frames have left the design than when it was made.
int eb_replay_step(long long cycle, int *resets, int *rate, int *link_half_fs) {
    *resets = *rate = *link_half_fs = -1;
    while (have_event && event.cycle <= static_cast<std::uint64_t>(cycle)) {
        switch (event.kind) {
        case kInject:
        case kInjectBad:
            eb_mac_inject(0, data.data(), event.length, event.value, event.kind == kInjectBad);
            break;
        case kMemory:
            if (event.value + event.length <= eb_memory_bytes(0)) {
                std::memcpy(eb_memory_buffer(0) + event.value, data.data(), event.length);
            }
            break;
        case kLanes:
            if (!eb_lane_file(0, (folder + "/lanes").c_str())) return 2;
            break;
        case kReset:
            *resets = static_cast<int>(event.value);
            break;
        case kRate:
            *rate = static_cast<int>(event.value);
            break;
        case kLinkHalf:
            *link_half_fs = static_cast<int>(event.value);
            break;
        case kEnd:
            finish(static_cast<std::uint64_t>(cycle));
            return failed ? 2 : 1;
        default:
            return 2;
        }
        next_event();
    }
    return have_event ? 0 : 2;
}

// The register access that is due at `cycle`, if there is one: returns 1 and takes it.
int eb_replay_access(long long cycle, int *write, int *address, int *value) {
    if (!have_access || access_.cycle > static_cast<std::uint64_t>(cycle)) return 0;
    *write = static_cast<int>(access_.write);
    *address = static_cast<int>(access_.address);
    *value = static_cast<int>(access_.data);
    next_access();
    return 1;
}

}  // extern "C"
