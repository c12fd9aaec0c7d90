// agent/log_reader_test.cpp - logs come whole and in order, through rotations, without being held.
#include "agent/log_reader.h"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "agent/log_file.h"
#include "agent/log_query.h"

namespace muster::agent {

namespace {

const Time at{1'700'000'000'000'000'000};

/// A folder with a log, which goes with it.
struct Log {
    Log() {
        char name[] = "/tmp/muster-log-XXXXXX";
        folder = ::mkdtemp(name);
        path = folder + "/0.log";
        file.open(path);
    }
    ~Log() { std::filesystem::remove_all(folder); }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// Lines "first" to "last - 1", each with so much text behind it.
    void add(int first, int last, std::size_t size) {
        for (int i = first; i < last; ++i)
            file.take(LogFile::Stream::out, std::to_string(i) + " " + std::string(size, 'x') + "\n",
                      at);
    }
    std::string printed(LogReader reader, std::size_t piece = 100'000) const {
        LogPrinter printer({});
        std::string out;
        for (std::string text; !(text = reader.read(piece)).empty();)
            out += printer.take(text);
        return out;
    }
    LogReader tail(std::int64_t lines) const {
        TailSearch search(path, lines);
        while (!search.step()) {
        }
        return std::move(search).reader();
    }
    int parts() const {
        const std::filesystem::directory_iterator all(folder);
        return static_cast<int>(std::distance(begin(all), end(all)));
    }

    std::string folder;
    std::string path;
    LogFile file;
};

std::string numbers_of(const std::string& text) {
    std::string numbers;
    for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1)
        numbers += text.substr(start, text.find(' ', start) - start) + " ";
    return numbers;
}

std::string numbers(int first, int last) {
    std::string text;
    for (int i = first; i < last; ++i)
        text += std::to_string(i) + " ";
    return text;
}

}  // namespace

TEST_CASE("a log is read from its oldest part on") {
    Log log;
    CHECK(log.printed(LogReader(log.path)).empty());
    CHECK(log.printed(LogReader(log.folder + "/none.log")).empty());
    log.add(0, 3000, 10'000);  // Three parts, cut inside of lines by each read.
    CHECK(log.parts() == 3);
    CHECK(numbers_of(log.printed(LogReader(log.path))) == numbers(0, 3000));
}

TEST_CASE("a reader follows a log through its rotations") {
    Log log;
    LogReader reader(log.path);
    LogPrinter printer({});
    std::string out;
    int written = 0;
    for (int round = 0; round < 60; ++round) {
        log.add(written, written + 100, 10'000);
        written += 100;
        std::string text;
        while (!(text = reader.read(300'000)).empty())
            out += numbers_of(printer.take(text));
    }
    CHECK(log.parts() == LogFile::kParts);
    // Numbers of lines that were cut by a piece are whole as the printer waits for their ends.
    CHECK(out == numbers(0, 6000));
}

TEST_CASE("a reader that is slower than the rotations goes on with what is left") {
    Log log;
    log.add(0, 100, 10'000);
    LogReader reader(log.path);
    const std::string begun = reader.read(1000);
    CHECK(begun.size() == 1000);
    log.add(100, 8000, 10'000);  // Its part is removed, which it may still read to the end.
    LogPrinter printer({});
    std::string out = printer.take(begun);
    for (std::string text; !(text = reader.read(100'000)).empty();)
        out += printer.take(text);
    const std::string seen = numbers_of(out);
    CHECK(seen.starts_with(numbers(0, 1000)));
    CHECK(seen.ends_with(numbers(7000, 8000)));
    CHECK(seen.find(" 2500 ") == std::string::npos);
}

TEST_CASE("the last lines are found from the end, over blocks and parts") {
    Log log;
    log.add(0, 3000, 10'000);
    for (const int lines : {1, 2, 150, 1043, 1044, 1045, 2999, 3000, 4000}) {
        CAPTURE(lines);
        CHECK(numbers_of(log.printed(log.tail(lines))) == numbers(std::max(0, 3000 - lines), 3000));
        TailSearch search(log.path, lines);
        while (!search.step()) {
        }
        const std::size_t behind = search.behind();
        std::size_t read = 0;
        LogReader reader = std::move(search).reader();
        for (std::string text; !(text = reader.read(1 << 20)).empty();)
            read += text.size();
        CHECK(behind == read);
    }
    CHECK(log.printed(log.tail(0)).empty());
    log.add(3000, 3001, 100'000);  // Entries of 16 KiB: one line all the same.
    CHECK(numbers_of(log.printed(log.tail(2))) == numbers(2999, 3001));
    LogReader follows = log.tail(1);
    CHECK(!follows.read(1 << 20).empty());
    log.add(3001, 5000, 10'000);
    CHECK(numbers_of(log.printed(std::move(follows))) == numbers(3001, 5000));
    Log empty;
    CHECK(empty.printed(empty.tail(5)).empty());
}

}  // namespace muster::agent
