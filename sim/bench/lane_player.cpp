// Chunk buffers of lane_player_dpi.v. The hardware side calls once a beat, the Python side (ctypes) once a chunk.
//
// Without Python a player can be given the file of a recorded run (recording.py) and reads its chunks from there.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "svdpi.h"

namespace {

constexpr int kPlayers = 4;

// Beats as the lanes take them, already split into the vectors of the ports.
struct Chunk {
    std::size_t beats = 0;
    std::vector<std::uint32_t> data;     // [beat][lane]
    std::vector<std::uint32_t> flags[3];  // K, not in table, disparity; [beat][word of 32 bits]
    std::vector<std::uint8_t> side;      // [beat]
};

struct Player {
    std::size_t lanes = 0;
    Chunk buffer[2];
    std::uint32_t supplied = 0;
    std::uint32_t played = 0;
    std::size_t position = 0;
    bool stopped = true;
    const Chunk *playing = nullptr;

    // Chunks of a recorded run, if there are any.
    std::FILE *file = nullptr;

    std::size_t flag_words() const { return (lanes * 4 + 31) / 32; }
};

Player players[kPlayers];

void fill(const Player &p, Chunk &chunk, const std::uint32_t *data, const std::uint16_t *flags, const std::uint8_t *side,
          std::size_t beats) {
    const std::size_t lanes = p.lanes;
    const std::size_t words = p.flag_words();
    chunk.beats = beats;
    chunk.data.assign(data, data + beats * lanes);
    chunk.side.assign(side, side + beats);
    for (auto &kind : chunk.flags) kind.assign(beats * words, 0);
    for (std::size_t beat = 0; beat < beats; ++beat) {
        const std::uint16_t *row = flags + beat * lanes;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::uint32_t value = row[lane];
            if (value == 0) continue;
            const std::size_t word = beat * words + lane / 8;
            const unsigned shift = 4 * (lane % 8);
            chunk.flags[0][word] |= (value & 15u) << shift;
            chunk.flags[1][word] |= (value >> 4 & 15u) << shift;
            chunk.flags[2][word] |= (value >> 8 & 15u) << shift;
        }
    }
}

void put(svBitVecVal *target, const std::uint32_t *source, std::size_t words) {
    std::memcpy(target, source, words * sizeof(std::uint32_t));
}

// Read the next chunk of a recorded run into the buffer; at its end the player falls silent.
void read_chunk(Player &p) {
    std::uint32_t beats = 0;
    if (std::fread(&beats, sizeof beats, 1, p.file) == 1) {
        std::vector<std::uint32_t> data(beats * p.lanes);
        std::vector<std::uint16_t> flags(beats * p.lanes);
        std::vector<std::uint8_t> side(beats);
        if (std::fread(data.data(), sizeof data[0], data.size(), p.file) == data.size() &&
            std::fread(flags.data(), sizeof flags[0], flags.size(), p.file) == flags.size() &&
            std::fread(side.data(), sizeof side[0], side.size(), p.file) == side.size()) {
            fill(p, p.buffer[p.supplied & 1], data.data(), flags.data(), side.data(), beats);
            ++p.supplied;
            return;
        }
    }
    std::fclose(p.file);
    p.file = nullptr;
}

// The chunk to play at a boundary, or nullptr.
const Chunk *next_chunk(Player &p) {
    if (p.file != nullptr) read_chunk(p);
    return p.supplied != p.played ? &p.buffer[p.played & 1] : nullptr;
}

}  // namespace

extern "C" {

void eb_lane_open(int player, int lanes) {
    players[player] = Player();
    players[player].lanes = static_cast<std::size_t>(lanes);
}

// The next beat. Returns bit 0: first of a chunk; bit 1: no chunk was there; bits 2 to 4: sysref, trigger, laser; bit 5: a beat;
// bits 6 to 10: how far into the beat trigger or laser come.
int eb_lane_beat(int player, svBitVecVal *data, svBitVecVal *charisk, svBitVecVal *notintable, svBitVecVal *disperr) {
    Player &p = players[player];
    const std::size_t words = p.flag_words();
    const bool start = p.position == 0;
    if (start) p.playing = next_chunk(p);
    const Chunk *chunk = p.playing;
    if (chunk == nullptr) {
        // The vectors may end inside a word; the bits above must stay zero.
        const std::uint32_t rest = p.lanes % 8 == 0 ? ~0u : (1u << 4 * (p.lanes % 8)) - 1u;
        std::memset(data, 0, p.lanes * 4);
        std::memset(charisk, 0, words * 4);
        std::memset(notintable, 0xff, words * 4);
        notintable[words - 1] = rest;
        std::memset(disperr, 0, words * 4);
        return p.stopped ? 0 : 2;
    }
    put(data, chunk->data.data() + p.position * p.lanes, p.lanes);
    put(charisk, chunk->flags[0].data() + p.position * words, words);
    put(notintable, chunk->flags[1].data() + p.position * words, words);
    put(disperr, chunk->flags[2].data() + p.position * words, words);
    const int status = (start ? 1 : 0) | (chunk->side[p.position] & 7) << 2 | 32 | chunk->side[p.position] >> 3 << 6;
    if (++p.position == chunk->beats) {
        p.position = 0;
        ++p.played;
    }
    return status;
}

// For Python: copy one chunk; data uint32 [beats][lanes], flags uint16 [beats][lanes], side uint8 [beats].
// Returns 0 if both buffers are in use.
int eb_lane_supply(int player, const std::uint32_t *data, const std::uint16_t *flags, const std::uint8_t *side,
                   std::uint32_t beats) {
    Player &p = players[player];
    if (p.supplied - p.played >= 2) return 0;
    fill(p, p.buffer[p.supplied & 1], data, flags, side, beats);
    ++p.supplied;
    p.stopped = false;
    return 1;
}

// For Python: no chunk follows; a player that has played all is silent without an error.
void eb_lane_stop(int player) { players[player].stopped = true; }

// Play the chunks of a file: for each uint32 beats, then data, flags and side as eb_lane_supply takes them.
// Returns 0 if it cannot be opened.
int eb_lane_file(int player, const char *path) {
    players[player].file = std::fopen(path, "rb");
    return players[player].file != nullptr;
}

}  // extern "C"
