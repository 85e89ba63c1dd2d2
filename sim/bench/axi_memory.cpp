// Content of axi_memory_dpi.v. The hardware side calls once a beat; Python reads and writes the buffer itself.

#include <cstdint>
#include <cstring>
#include <vector>

#include "svdpi.h"

namespace {

constexpr int kMemories = 4;
constexpr std::size_t kWordBytes = 64;

std::vector<std::uint8_t> memories[kMemories];

}  // namespace

extern "C" {

void eb_memory_open(int memory, int words) { memories[memory].assign(static_cast<std::size_t>(words) * kWordBytes, 0); }

void eb_memory_read(int memory, int word, svBitVecVal *data) {
    std::memcpy(data, memories[memory].data() + static_cast<std::size_t>(word) * kWordBytes, kWordBytes);
}

void eb_memory_write(int memory, int word, const svBitVecVal *data, long long strobes) {
    const auto *source = reinterpret_cast<const std::uint8_t *>(data);
    std::uint8_t *target = memories[memory].data() + static_cast<std::size_t>(word) * kWordBytes;
    const auto enabled = static_cast<std::uint64_t>(strobes);
    if (enabled == ~0ULL) {
        std::memcpy(target, source, kWordBytes);
        return;
    }
    for (std::size_t i = 0; i < kWordBytes; ++i) {
        if (enabled >> i & 1) target[i] = source[i];
    }
}

// For Python: the buffer and its size in bytes.
std::uint8_t *eb_memory_buffer(int memory) { return memories[memory].data(); }
std::uint64_t eb_memory_bytes(int memory) { return memories[memory].size(); }

}  // extern "C"
