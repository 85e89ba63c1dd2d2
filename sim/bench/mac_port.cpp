// Frame store of mac_port_dpi.v. The hardware side calls once a beat, the Python side (ctypes) once a frame.
//
// Simulator and Python share one thread, so nothing here needs a lock.

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "svdpi.h"

namespace {

constexpr int kPorts = 16;
constexpr int kBeatOctets = 64;
constexpr std::size_t kLongestFrame = 8192;

struct Collected {
    std::vector<std::uint8_t> octets;
    std::uint64_t first_cycle = 0;
    std::uint64_t last_cycle = 0;
};

struct Replayed {
    std::vector<std::uint8_t> octets;
    bool bad_fcs = false;
};

struct Port {
    // From the design.
    Collected present;
    std::deque<Collected> collected;
    // The frame that Python is reading; kept until it asks for the next.
    Collected taken;
    // Count frames instead of keeping them.
    bool sink = false;
    std::uint64_t frames = 0;
    std::uint64_t octets = 0;

    // To the design: by earliest cycle, equal cycles in the order of injection (a multimap keeps it).
    std::multimap<std::uint64_t, Replayed> waiting;
    Replayed playing;
    std::size_t position = 0;
    bool busy = false;
};

Port ports[kPorts];

}  // namespace

extern "C" {

// One beat from the design. Returns 0 if the frame has become too long to be kept.
int eb_mac_collect(int port, int first, int last, int octets, long long cycle, const svBitVecVal *data) {
    Port &p = ports[port];
    Collected &frame = p.present;
    if (first) {
        frame.octets.clear();
        frame.octets.reserve(4352);
        frame.first_cycle = static_cast<std::uint64_t>(cycle);
    }
    const bool fits = frame.octets.size() + octets <= kLongestFrame;
    if (fits) {
        const auto *source = reinterpret_cast<const std::uint8_t *>(data);
        frame.octets.insert(frame.octets.end(), source, source + octets);
    }
    if (last) {
        frame.last_cycle = static_cast<std::uint64_t>(cycle);
        ++p.frames;
        p.octets += frame.octets.size();
        if (!p.sink) p.collected.push_back(std::move(frame));
        frame = Collected();
    }
    return fits;
}

// What the design shall see at `cycle`: bit 0 a beat, bit 1 the last of its frame, bit 2 with a bad FCS.
int eb_mac_due(int port, long long cycle) {
    Port &p = ports[port];
    if (!p.busy) {
        if (p.waiting.empty() || p.waiting.begin()->first > static_cast<std::uint64_t>(cycle)) return 0;
        p.playing = std::move(p.waiting.begin()->second);
        p.waiting.erase(p.waiting.begin());
        p.position = 0;
        p.busy = true;
    }
    const bool last = p.position + kBeatOctets >= p.playing.octets.size();
    return 1 | (last ? 2 : 0) | (last && p.playing.bad_fcs ? 4 : 0);
}

// The beat that eb_mac_due announced.
void eb_mac_next(int port, svBitVecVal *data, long long *keep) {
    Port &p = ports[port];
    const std::size_t left = p.playing.octets.size() - p.position;
    const std::size_t octets = left < kBeatOctets ? left : kBeatOctets;
    auto *target = reinterpret_cast<std::uint8_t *>(data);
    std::memcpy(target, p.playing.octets.data() + p.position, octets);
    std::memset(target + octets, 0, kBeatOctets - octets);
    *keep = static_cast<long long>(octets == kBeatOctets ? ~0ULL : (1ULL << octets) - 1);
    p.position += octets;
    if (left <= kBeatOctets) p.busy = false;
}

// For Python: frames collected and not yet taken.
unsigned eb_mac_pending(int port) { return static_cast<unsigned>(ports[port].collected.size()); }

// For Python: take the oldest frame. `cycles` receives first and last; the octets stay valid until the next call for this port.
const std::uint8_t *eb_mac_take(int port, std::uint64_t *cycles, std::uint32_t *octets) {
    Port &p = ports[port];
    if (p.collected.empty()) return nullptr;
    p.taken = std::move(p.collected.front());
    p.collected.pop_front();
    cycles[0] = p.taken.first_cycle;
    cycles[1] = p.taken.last_cycle;
    *octets = static_cast<std::uint32_t>(p.taken.octets.size());
    return p.taken.octets.data();
}

// For Python: replay `octets` octets of `data` at `cycle` or as soon after as the line is free.
void eb_mac_inject(int port, const std::uint8_t *data, std::uint32_t octets, std::uint64_t cycle, int bad_fcs) {
    Replayed frame;
    frame.octets.assign(data, data + octets);
    frame.bad_fcs = bad_fcs != 0;
    ports[port].waiting.emplace(cycle, std::move(frame));
}

// For Python: frames injected whose first beat has not been played.
unsigned eb_mac_waiting(int port) { return static_cast<unsigned>(ports[port].waiting.size()); }

// Without Python: from now on frames are counted and forgotten; what has been counted so far.
void eb_mac_sink(int port) { ports[port].sink = true; }
std::uint64_t eb_mac_frames(int port) { return ports[port].frames; }
std::uint64_t eb_mac_octets(int port) { return ports[port].octets; }

}  // extern "C"
