#include "stellwerk/io/rocm_topology.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMaxGpus = 512;

/// What a title announces; both tools' wordings.
enum class Section : std::uint8_t { none, weight, hops, type, other };

Section section_of(std::string_view line) {
  const auto has = [&](std::string_view what) { return line.find(what) != std::string_view::npos; };
  if (has("Link Type between two GPUs") || has("LINK TYPE TABLE")) return Section::type;
  if (has("Weight between two GPUs") || has("WEIGHT TABLE")) return Section::weight;
  if (has("Hops between two GPUs") || has("HOPS TABLE")) return Section::hops;
  if (line.starts_with("===") || has(" TABLE:")) return Section::other;
  return Section::none;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : file_(file), lines_(split_lines(text)) {}

  Machine read() {
    machine_.format = "rocm-smi --showtopo or amd-smi topology";
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      const Section section = section_of(lines_[at].text);
      if (section == Section::type || section == Section::weight || section == Section::hops) {
        at = read_table(at + 1, section) - 1;
      } else {
        read_numa(lines_[at]);
      }
    }
    if (types_.empty()) {
      throw Error(
          ErrorCode::unreadable_input,
          one_line(file_) +
              ": there is no section of link types: run rocm-smi --showtopo, or amd-smi topology");
    }
    build();
    return std::move(machine_);
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(line) + ": " + what);
  }

  using Table = std::vector<std::vector<std::string>>;

  /// Reads the table whose header is at `at` or after empty lines; the number of the line after it.
  std::size_t read_table(std::size_t at, Section section) {
    while (at < lines_.size() && lines_[at].words.empty()) ++at;
    if (at == lines_.size()) return at;
    const TextLine& header = lines_[at];
    std::vector<std::string> names(header.words.begin(), header.words.end());
    if (names.size() > kMaxGpus)
      fail(header.number, "more than " + std::to_string(kMaxGpus) + " GPUs");
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
      fail(header.number, "a column is there twice");
    if (names_.empty()) names_ = names;
    if (names != names_) fail(header.number, "the columns differ from those of the first table");
    Table table(names.size());
    for (++at; at < lines_.size(); ++at) {
      const auto& words = lines_[at].words;
      if (words.empty()) break;
      const auto row = std::find(names.begin(), names.end(), words[0]);
      if (row == names.end()) break;
      auto& cells = table[static_cast<std::size_t>(row - names.begin())];
      if (!cells.empty()) fail(lines_[at].number, "row " + *row + " is there twice");
      if (words.size() != names.size() + 1) {
        const std::size_t column = std::min(words.size() - 1, names.size() - 1);
        fail(lines_[at].number, "row " + *row + " has " + std::to_string(words.size() - 1) +
                                    " cells for " + std::to_string(names.size()) +
                                    " columns, up to column " + names[column]);
      }
      cells.assign(words.begin() + 1, words.end());
      if (section == Section::type)
        type_line_[static_cast<std::size_t>(row - names.begin())] = lines_[at].number;
    }
    if (section == Section::type) {
      types_ = std::move(table);
      types_header_ = header.number;
    } else if (section == Section::hops) {
      hops_ = std::move(table);
    }
    return at;
  }

  /// "GPU 0 : (Topology) Numa Node: 0" (rocm-smi 5), "GPU[0] : (Topology) Numa Node: 0".
  void read_numa(const TextLine& line) {
    const std::size_t where = line.text.find("Numa Node:");
    const std::size_t gpu = line.text.find("GPU");
    if (where == std::string_view::npos || gpu == std::string_view::npos) return;
    const auto number = [](std::string_view text) -> std::optional<int> {
      const std::size_t start = text.find_first_of("0123456789");
      if (start == std::string_view::npos) return std::nullopt;
      int value = 0;
      for (std::size_t k = start;
           k < text.size() && text[k] >= '0' && text[k] <= '9' && value < 100'000; ++k) {
        value = 10 * value + (text[k] - '0');
      }
      return value;
    };
    const auto which = number(line.text.substr(gpu, where - gpu));
    const auto node = number(line.text.substr(where));
    if (which && node) numa_[*which] = *node;
  }

  void build() {
    const std::size_t n = names_.size();
    for (std::size_t a = 0; a < n; ++a) {
      if (types_[a].empty())
        fail(types_header_, "row " + names_[a] + " of the link types is missing");
      Device gpu;
      gpu.name = "gpu" + std::to_string(a);
      gpu.id = names_[a];
      if (const auto numa = numa_.find(static_cast<int>(a)); numa != numa_.end())
        gpu.numa = numa->second;
      machine_.add(std::move(gpu));
    }
    std::size_t over_pcie = 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        const std::string& type = types_[a][b];
        const std::size_t line = type_line_[a];
        const std::string place = "row " + names_[a] + ", column " + names_[b] + ": ";
        if (a == b) {
          if (type != "0" && type != "SELF")
            fail(line, place + in_quotes(type) + " of a GPU to itself");
          continue;
        }
        if (type != "XGMI" && type != "PCIE")
          fail(line, place + in_quotes(type) + " is neither XGMI nor PCIE");
        if (types_[b][a] != type)
          fail(line, place + type + ", but " + in_quotes(types_[b][a]) + " the other way round");
        if (a > b) continue;
        const bool direct = hops_.empty() || hops_[a].empty() || hops_[a][b] == "1";
        if (type == "XGMI" && direct) {
          machine_.wires.push_back({Wire::Kind::xgmi, a, b, std::nullopt, std::nullopt, ""});
        } else if (type == "PCIE") {
          ++over_pcie;
        }
      }
    }
    build_sockets(over_pcie > 0);
  }

  /// PCIe: the text tells the NUMA node of a GPU at best.
  void build_sockets(bool needed) {
    std::map<int, std::size_t> sockets;
    for (std::size_t a = 0; a < names_.size(); ++a) {
      if (!needed && !machine_.devices[a].numa) continue;
      const int numa = machine_.devices[a].numa.value_or(0);
      if (!sockets.contains(numa)) {
        Device socket;
        socket.kind = Device::Kind::socket;
        socket.name = "cpu" + std::to_string(numa);
        socket.numa = numa;
        sockets[numa] = machine_.add(std::move(socket));
      }
      machine_.wires.push_back(
          {Wire::Kind::pcie, sockets[numa], a, std::nullopt, std::nullopt, ""});
    }
    for (auto i = sockets.begin(); i != sockets.end(); ++i) {
      for (auto j = std::next(i); j != sockets.end(); ++j) {
        machine_.wires.push_back(
            {Wire::Kind::between_sockets, i->second, j->second, std::nullopt, std::nullopt, ""});
      }
    }
  }

  const std::string& file_;
  std::vector<TextLine> lines_;
  Machine machine_;
  std::vector<std::string> names_;
  Table types_, hops_;
  std::size_t types_header_ = 0;
  std::map<std::size_t, std::size_t> type_line_;
  std::map<int, int> numa_;
};

}  // namespace

bool looks_like_rocm_topology(std::string_view text) {
  return text.find("Link Type between two GPUs") != std::string_view::npos ||
         text.find("LINK TYPE TABLE") != std::string_view::npos;
}

Machine read_rocm_topology(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace stellwerk
