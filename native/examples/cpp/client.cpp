// recolva from C++17, linked.
#include "recolva.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::int64_t now = 87'400'000, day = 86'400'000;

void check(std::int32_t status) {
    if (status != RECOLVA_OK)
        throw std::invalid_argument("recolva: status " + std::to_string(status));
}

// Prints one score of each model, and a batch.
void score() {
    double one, other;
    check(DecayScoreExponential(1'000'000, now, day, &one));
    check(DecayScorePowerLaw(1'000'000, now, day, 1.0, 0.5, &other));
    const std::vector<std::int64_t> times{1'000'000, -85'400'000, -171'800'000};
    std::vector<double> many(times.size());
    check(DecayScoreExponentialBatch(times.data(), std::int64_t(times.size()), now, day, many.data()));
    std::cout << "exponential " << one << "\npower-law " << other << "\nbatch";
    for (double x : many)
        std::cout << ' ' << x;
    std::cout << '\n';
}

std::string hex(double x) {
    std::uint64_t word;
    std::memcpy(&word, &x, sizeof word);
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, word);
    return text;
}

double from_hex(const std::string& text) {
    const std::uint64_t word = std::stoull(text, nullptr, 16);
    double x;
    std::memcpy(&x, &word, sizeof x);
    return x;
}

// Where a block's memories are written, one element each.
struct Rows {
    static constexpr std::size_t capacity = 100;
    using Offsets = std::vector<std::int64_t>;
    Offsets line_start = Offsets(capacity), line_end = line_start, id_start = line_start, id_end = line_start,
            last_accessed = line_start;
    std::vector<double> score = std::vector<double>(capacity);
    std::vector<std::uint8_t> prune = std::vector<std::uint8_t>(capacity);
    std::int64_t records = 0, blanks = 0, consumed = 0, bad_line = 0;

    void scan(std::string_view data, const std::vector<double>& parameters, double threshold) {
        check(RecolvaScanBlock(reinterpret_cast<const std::uint8_t*>(data.data()), std::int64_t(data.size()), 1,
                               RECOLVA_POWER_LAW, parameters.data(), std::int32_t(parameters.size()), now, threshold,
                               capacity, line_start.data(), line_end.data(), id_start.data(), id_end.data(),
                               last_accessed.data(), score.data(), prune.data(), &records, &blanks, &consumed, &bad_line));
    }
};

// Prints id, score and decision of each memory in a JSONL file, a block of rows at a time.
void scan(const char* name) {
    std::ifstream file(name, std::ios::binary);
    if (!file)
        throw std::runtime_error(std::string("cannot open ") + name);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    std::string_view data = content;
    if (data.substr(0, 3) == "\xEF\xBB\xBF")
        data.remove_prefix(3); // a byte order mark belongs to no line
    Rows rows;
    std::int64_t memories = 0, lines = 0;
    do {
        rows.scan(data, {86'400'000, 1}, 0.3); // scale_ms, exponent
        for (std::size_t i = 0; i < std::size_t(rows.records); i++) {
            const auto id = data.substr(std::size_t(rows.id_start[i]), std::size_t(rows.id_end[i] - rows.id_start[i]));
            std::cout << id << '\t' << hex(rows.score[i]) << '\t' << int(rows.prune[i]) << '\n';
        }
        if (rows.bad_line != 0)
            throw std::runtime_error("line " + std::to_string(lines + rows.bad_line) + " is not valid");
        data.remove_prefix(std::size_t(rows.consumed));
        memories += rows.records;
        lines += rows.records + rows.blanks;
    } while (!data.empty());
    std::cout << memories << " memories, " << lines - memories << " blank lines\n";
}

// Answers each line of standard input with status and score, of a single call and of a batch.
void vectors() {
    std::string model, exponent, importance;
    std::int64_t last, then, millis;
    while (std::cin >> model >> last >> then >> millis) {
        double single = -7.25, batch = -7.25;
        std::int32_t status, batch_status;
        if (model == "exponential") {
            status = DecayScoreExponential(last, then, millis, &single);
            batch_status = DecayScoreExponentialBatch(&last, 1, then, millis, &batch);
        } else {
            std::cin >> exponent >> importance;
            const double weight = from_hex(importance), power = from_hex(exponent);
            status = DecayScorePowerLaw(last, then, millis, power, weight, &single);
            batch_status = DecayScorePowerLawBatch(&last, &weight, 1, then, millis, power, &batch);
        }
        std::cout << status << ' ' << hex(single) << ' ' << batch_status << ' ' << hex(batch) << '\n';
    }
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: client FILE.jsonl | client --vectors\n";
        return 2;
    }
    if (std::string_view(argv[1]) == "--vectors") {
        vectors();
        return 0;
    }
    score();
    scan(argv[1]);
    return 0;
} catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << error.what() << '\n';
    return 1;
}
