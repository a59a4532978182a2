// What a careful C++ programmer would write over simdjson for the work of decay-sweep:
//   simdjson_scan FILE CUTOFF_MS          print how many records were last accessed before the cutoff
//   simdjson_scan FILE CUTOFF_MS OUTPUT   also write the other lines to OUTPUT, and fsync it
#include <simdjson.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstring>
#include <string_view>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const std::int64_t cutoff = std::atoll(argv[2]);
    std::FILE *output = argc > 3 ? std::fopen(argv[3], "wb") : nullptr;
    if (output) std::setvbuf(output, nullptr, _IOFBF, 1 << 20);
    auto json = simdjson::padded_string::load(argv[1]);
    if (json.error()) return 1;
    simdjson::ondemand::parser parser;
    std::size_t pruned = 0;
    // Line by line: the file's padding serves every line but the last few bytes, and a stream of
    // documents would lose the line's text, which the kept lines need.
    const char *at = json.value_unsafe().data(), *const end = at + json.value_unsafe().size();
    while (at < end) {
        const void *newline = std::memchr(at, '\n', end - at);
        const std::size_t length = newline ? static_cast<const char *>(newline) - at : end - at;
        const std::size_t padded = static_cast<std::size_t>(end - at) + simdjson::SIMDJSON_PADDING;
        simdjson::ondemand::document document;
        if (parser.iterate(simdjson::padded_string_view(at, length, padded)).get(document)) return 1;
        std::int64_t last_accessed;
        std::string_view id;
        if (document["last_accessed_ms"].get_int64().get(last_accessed)) return 1;
        if (document["id"].get_string().get(id) || id.empty()) return 1;
        if (last_accessed < cutoff) {
            ++pruned;
        } else if (output) {
            std::fwrite(at, 1, length, output);
            std::fputc('\n', output);
        }
        at += length + 1;
    }
    if (output && (std::fflush(output) || fsync(fileno(output)) || std::fclose(output))) return 1;
    std::printf("%zu\n", pruned);
}
