// How a damaged matrix is read: a line is split at blanks, rows and columns are known by the names of devices, so widths
// and alignment do not matter. Cells that stick together ("PIXNODE") are split where that is possible in one way. A row
// that lacks cells at its end is completed from its mirror image; one that lacks cells before its affinity columns gets
// them where the X is in its own column and every cell equals its mirror image, if there is one way only. Then
// closeness (PIX < PXB < PHB < NODE < SYS) becomes a tree of PCIe switches and sockets. Held to its word by
// smi_matrix_test.cpp.
#include "stellwerk/io/smi_matrix.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMaxDevices = 512;

enum class Near : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys };

struct Cell {
  Near near = Near::sys;
  int links = 0;  ///< NVLinks
  friend bool operator==(const Cell&, const Cell&) = default;
};

std::string to_text(const Cell& cell) {
  static constexpr std::array names = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
  std::string text = names[static_cast<std::size_t>(cell.near)];
  if (cell.near == Near::nvlink) text += std::to_string(cell.links);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The cells that a word without blanks consists of; empty if it is something else.
std::vector<Cell> cells_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Near>, 7> names = {{{"NODE", Near::node},
                                                                              {"PIX", Near::pix},
                                                                              {"PXB", Near::pxb},
                                                                              {"PHB", Near::phb},
                                                                              {"SYS", Near::sys},
                                                                              {"SOC", Near::sys},
                                                                              {"X", Near::self}}};
  std::vector<Cell> result;
  while (!word.empty()) {
    bool found = false;
    if (word.starts_with("NV") && word.size() > 2 && is_digit(word[2])) {
      word.remove_prefix(2);
      int links = 0;
      while (!word.empty() && is_digit(word.front()) && links < 100) {
        links = 10 * links + (word.front() - '0');
        word.remove_prefix(1);
      }
      if (links == 0) return {};
      result.push_back({Near::nvlink, links});
      continue;
    }
    for (const auto& [name, near] : names) {
      if (!word.starts_with(name)) continue;
      word.remove_prefix(name.size());
      result.push_back({near, 0});
      found = true;
      break;
    }
    if (!found) return {};
  }
  return result;
}

/// A name that devices have by default. NICs may have any other (read_header).
bool is_device(std::string_view word) {
  const auto numbered = [&](std::string_view prefix) {
    return word.starts_with(prefix) && word.size() > prefix.size() &&
           std::all_of(word.begin() + static_cast<std::ptrdiff_t>(prefix.size()), word.end(),
                       is_digit);
  };
  return numbered("GPU") || numbered("NIC") || numbered("mlx4_") || numbered("mlx5_") ||
         numbered("mlx5_bond_") || numbered("bnxt_re") || numbered("irdma") || numbered("efa_") ||
         numbered("rdmap") || numbered("hfi1_");
}

bool is_gpu(std::string_view name) { return name.starts_with("GPU"); }

/// The lines that hold something, without what a report puts before them.
std::vector<TextLine> split(std::string_view text) {
  std::vector<TextLine> lines = split_lines(text);
  for (TextLine& line : lines) {
    // A comment, a quotation, a table.
    const auto is_prefix = [](std::string_view word) {
      return word == "#" || word == ">" || word == "|";
    };
    line.words.erase(line.words.begin(),
                     std::find_if_not(line.words.begin(), line.words.end(), is_prefix));
  }
  std::erase_if(lines, [](const TextLine& line) { return line.words.empty(); });
  return lines;
}

/// How many names of devices a header begins with; 0 if it is not one. A row has a cell after its name.
std::size_t header_size(const TextLine& line) {
  std::size_t count = 0;
  while (count < line.words.size() && is_device(line.words[count])) ++count;
  if (count == 0 || !is_gpu(line.words.front())) return 0;
  const bool more = count < line.words.size();
  if (more && !cells_of(line.words[count]).empty()) return 0;
  return count;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : file_(file), lines_(split(text)) {}

  Machine read() {
    machine_.format = "nvidia-smi topo -m";
    read_header();
    for (; at_ < lines_.size(); ++at_) {
      if (!read_row(lines_[at_])) break;
    }
    read_nic_legend();
    complete();
    check();
    build();
    return std::move(machine_);
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(line) + ": " + what);
  }
  void note(const std::string& what) { machine_.notes.push_back(what); }
  std::size_t columns() const { return names_.size(); }

  void read_header() {
    for (; at_ < lines_.size(); ++at_) {
      std::size_t count = header_size(lines_[at_]);
      if (count == 0) continue;
      count = with_named_rows(lines_[at_], count);
      header_ = lines_[at_].number;
      if (count > kMaxDevices)
        fail(header_, "more than " + std::to_string(kMaxDevices) + " devices");
      std::set<std::string> taken;
      for (std::size_t k = 0; k < count; ++k) {
        names_.emplace_back(lines_[at_].words[k]);
        if (!taken.insert(names_.back()).second)
          fail(header_, "column " + names_.back() + " is there twice");
      }
      cells_.assign(count, std::vector<std::optional<Cell>>(count));
      row_line_.assign(count, 0);
      affinity_.assign(count, "");
      ++at_;
      return;
    }
    throw Error(ErrorCode::unreadable_input, one_line(file_) +
                                                 ": there is no line of column names (GPU0 GPU1 "
                                                 "...): not the output of nvidia-smi topo -m");
  }

  /// Of `count` names that a header begins with, and any that follow which rows begin with, too: administrators rename NICs.
  std::size_t with_named_rows(const TextLine& header, std::size_t count) const {
    std::set<std::string_view> rows;
    for (std::size_t at = at_ + 1; at < lines_.size(); ++at) {
      const auto& words = lines_[at].words;
      if (words.size() > 1 && !cells_of(words[1]).empty()) rows.insert(words[0]);
    }
    while (count < header.words.size() &&
           (is_device(header.words[count]) || rows.contains(header.words[count])))
      ++count;
    return count;
  }

  std::size_t column(std::string_view name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

  /// False at the first line that is no row: the matrix has ended.
  bool read_row(const TextLine& line) {
    const std::size_t row = column(line.words.front());
    if (row == columns()) {
      if (is_device(line.words.front()) && line.words.size() > 1 &&
          !cells_of(line.words[1]).empty()) {
        fail(line.number, "row " + std::string(line.words.front()) + " has no column in line " +
                              std::to_string(header_));
      }
      return false;
    }
    if (row_line_[row] != 0)
      fail(line.number, "row " + names_[row] + " is there twice (first in line " +
                            std::to_string(row_line_[row]) + ")");
    row_line_[row] = line.number;
    std::vector<Cell> cells;
    std::size_t word = 1;
    for (; word < line.words.size() && cells.size() < columns(); ++word) {
      const std::vector<Cell> some = cells_of(line.words[word]);
      if (some.empty()) break;
      if (some.size() > 1)
        note("line " + std::to_string(line.number) + ": " + in_quotes(line.words[word]) +
             " is read as " + std::to_string(some.size()) + " cells");
      cells.insert(cells.end(), some.begin(), some.end());
    }
    if (cells.size() > columns()) {
      fail(line.number, "row " + names_[row] + " has more cells than there are columns (" +
                            std::to_string(columns()) + ")");
    }
    const bool tail = word < line.words.size();
    if (tail && cells.size() == columns() && !cells_of(line.words[word]).empty()) {
      fail(line.number, "row " + names_[row] + " has more cells than there are columns (" +
                            std::to_string(columns()) + ")");
    }
    if (tail) affinity_[row] = affinity(line, word);
    if (cells.size() == columns()) {
      for (std::size_t k = 0; k < columns(); ++k) cells_[row][k] = cells[k];
    } else if (tail && looks_like_cell_damage(line.words[word])) {
      fail(line.number, "row " + names_[row] + ", column " + names_[cells.size()] + ": " +
                            in_quotes(line.words[word]) +
                            " is none of X, NV#, PIX, PXB, PHB, NODE, SYS");
    } else {
      short_rows_.push_back({row, std::move(cells), tail});
    }
    return true;
  }

  /// A word where a cell should be that begins like one.
  static bool looks_like_cell_damage(std::string_view word) {
    return !word.empty() && word.front() >= 'A' && word.front() <= 'Z' && word != "N/A";
  }

  /// What says to which socket a GPU belongs: the NUMA node, or else the list of CPUs.
  static std::string affinity(const TextLine& line, std::size_t word) {
    const std::vector<std::string_view> rest(line.words.begin() + static_cast<std::ptrdiff_t>(word),
                                             line.words.end());
    if (rest.size() >= 2 && std::all_of(rest[1].begin(), rest[1].end(), is_digit))
      return "numa " + std::string(rest[1]);
    return rest.front() == "N/A" ? "" : "cpus " + std::string(rest.front());
  }

  /// Lines like "NIC0: mlx5_1" after the matrix.
  void read_nic_legend() {
    for (; at_ < lines_.size(); ++at_) {
      const auto& words = lines_[at_].words;
      if (words.size() != 2 || !words[0].ends_with(':')) continue;
      const std::size_t nic = column(words[0].substr(0, words[0].size() - 1));
      if (nic < columns()) real_name_[nic] = std::string(words[1]);
    }
  }

  struct ShortRow {
    std::size_t row;
    std::vector<Cell> cells;
    bool tail;  ///< affinity follows: the missing cells need not be the last
  };

  void complete() {
    for (const ShortRow& row : short_rows_) {
      if (row.tail) continue;
      // Cut off: what is there is in its place.
      for (std::size_t k = 0; k < row.cells.size(); ++k) cells_[row.row][k] = row.cells[k];
    }
    for (const ShortRow& row : short_rows_) {
      if (row.tail) place(row);
    }
    std::size_t mirrored = 0;
    for (std::size_t a = 0; a < columns(); ++a) {
      for (std::size_t b = 0; b < columns(); ++b) {
        if (cells_[a][b]) continue;
        if (a == b) cells_[a][b] = Cell{Near::self, 0};
        if (a != b && cells_[b][a]) {
          cells_[a][b] = cells_[b][a];
          ++mirrored;
        }
      }
    }
    if (mirrored > 0)
      note(std::to_string(mirrored) + " missing cells are taken from their mirror images");
  }

  /// The one way to put cells into a row that lacks some.
  void place(const ShortRow& row) {
    const std::size_t lack = columns() - row.cells.size();
    const std::size_t line = row_line_[row.row];
    const auto refuse = [&](const char* why) {
      fail(line, "row " + names_[row.row] + " has " + std::to_string(row.cells.size()) +
                     " cells for " + std::to_string(columns()) + " columns, and " + why +
                     ": add the missing ones");
    };
    // ways[k]: with the first cells in their places and k of the missing ones passed. A cell fits where its mirror image
    // is the same or unknown; the X fits in its own column only.
    const auto fits = [&](std::size_t cell, std::size_t at) {
      if ((row.cells[cell].near == Near::self) != (at == row.row)) return false;
      const auto& mirror = cells_[at][row.row];
      return at == row.row || !mirror || *mirror == row.cells[cell];
    };
    // Placements as sets of gaps, found depth first; two are too many.
    std::vector<std::vector<std::size_t>> found;
    std::vector<std::size_t> at;
    const auto search = [&](const auto& self, std::size_t cell, std::size_t next) -> void {
      if (found.size() > 1) return;
      if (cell == row.cells.size()) {
        found.push_back(at);
        return;
      }
      for (std::size_t k = next; k <= cell + lack; ++k) {
        if (!fits(cell, k)) continue;
        at.push_back(k);
        self(self, cell + 1, k + 1);
        at.pop_back();
      }
    };
    if (lack > 4) refuse("too many are missing");
    search(search, 0, 0);
    if (found.empty()) refuse("no place for the missing ones agrees with the other rows");
    if (found.size() > 1) refuse("there is more than one place for the missing ones");
    for (std::size_t k = 0; k < row.cells.size(); ++k) cells_[row.row][found[0][k]] = row.cells[k];
    note("line " + std::to_string(line) + ": row " + names_[row.row] + " lacks " +
         std::to_string(lack) + " cells: placed by their mirror images");
  }

  void check() const {
    for (std::size_t a = 0; a < columns(); ++a) {
      const std::size_t line = row_line_[a] != 0 ? row_line_[a] : header_;
      for (std::size_t b = 0; b < columns(); ++b) {
        if (!cells_[a][b]) {
          if (!is_gpu(names_[a]) && !is_gpu(names_[b])) continue;  // between NICs: nobody needs it
          fail(line, "row " + names_[a] + ", column " + names_[b] +
                         " is missing, and so is its mirror image" +
                         (row_line_[a] == 0 ? " (there is no row " + names_[a] + ")" : ""));
        }
        const Cell& cell = *cells_[a][b];
        if ((cell.near == Near::self) != (a == b)) {
          fail(line, "row " + names_[a] + ", column " + names_[b] + ": " + to_text(cell) +
                         (a == b ? " where the X must be" : " of another device"));
        }
        if (cells_[b][a] && *cells_[b][a] != cell) {
          fail(line, "row " + names_[a] + ", column " + names_[b] + ": " + to_text(cell) +
                         ", but " + to_text(*cells_[b][a]) + " the other way round");
        }
      }
    }
  }

  // --- From closeness to a tree ----------------------------------------------------------------

  /// Groups of devices that are at least this near to each other, numbered by their first device.
  std::vector<std::size_t> groups(Near near) const {
    graph::UnionFind together(columns());
    for (std::size_t a = 0; a < columns(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto& cell = cells_[a][b];
        if (cell && cell->near != Near::nvlink && cell->near <= near) together.join(a, b);
        if (near == Near::node && !affinity_[a].empty() && affinity_[a] == affinity_[b])
          together.join(a, b);
      }
    }
    std::vector<std::size_t> result(columns());
    for (std::size_t v = 0; v < columns(); ++v) result[v] = together.root(v);
    return result;
  }

  void build() {
    std::vector<std::size_t> device(columns());
    for (std::size_t v = 0; v < columns(); ++v) {
      Device d;
      d.kind = is_gpu(names_[v]) ? Device::Kind::gpu : Device::Kind::nic;
      d.id = names_[v];
      if (d.kind == Device::Kind::gpu) {
        d.name = "gpu" + names_[v].substr(3);
      } else {
        d.name = real_name_.contains(v) ? real_name_.at(v) : names_[v];
      }
      device[v] = machine_.add(std::move(d));
    }
    build_nvlinks(device);
    build_tree(device);
  }

  void build_nvlinks(const std::vector<std::size_t>& device) {
    std::vector<std::size_t> gpus;
    for (std::size_t v = 0; v < columns(); ++v) {
      if (is_gpu(names_[v])) gpus.push_back(v);
    }
    std::set<int> counts;
    bool all = gpus.size() > 1;
    for (const std::size_t a : gpus) {
      for (const std::size_t b : gpus) {
        if (a == b) continue;
        all = all && cells_[a][b]->near == Near::nvlink;
        counts.insert(cells_[a][b]->links);
      }
    }
    // No GPU has more than 18 NVLinks: more than that in a row can only be the same ones, through a switch.
    constexpr int kMostLinks = 18;
    const char* source = "links counted in the file";
    if (all && counts.size() == 1 &&
        *counts.begin() * static_cast<int>(gpus.size() - 1) > kMostLinks) {
      Device hub;
      hub.kind = Device::Kind::gpu_switch;
      hub.name = "nvswitch";
      const std::size_t at = machine_.add(std::move(hub));
      for (const std::size_t v : gpus) {
        machine_.wires.push_back(
            {Wire::Kind::nvlink, device[v], at, *counts.begin(), std::nullopt, source});
      }
      return;
    }
    for (const std::size_t a : gpus) {
      for (const std::size_t b : gpus) {
        if (a >= b || cells_[a][b]->near != Near::nvlink) continue;
        machine_.wires.push_back(
            {Wire::Kind::nvlink, device[a], device[b], cells_[a][b]->links, std::nullopt, source});
      }
    }
  }

  /// Does the matrix say anything about where on PCIe a device is?
  bool placed(std::size_t v) const {
    if (!affinity_[v].empty()) return true;
    for (std::size_t other = 0; other < columns(); ++other) {
      const auto& cell = cells_[v][other];
      if (cell && cell->near != Near::self && cell->near != Near::nvlink) return true;
    }
    return false;
  }

  void pcie(std::size_t parent, std::size_t child) {
    machine_.wires.push_back({Wire::Kind::pcie, parent, child, std::nullopt, std::nullopt, ""});
  }

  /// PCIe switches where two or more devices are near, then sockets.
  void build_tree(const std::vector<std::size_t>& device) {
    std::vector<std::size_t> top =
        device;  // the device that stands for the part of the tree above each
    std::size_t bridges = 0;
    for (const Near near : {Near::pix, Near::pxb}) {
      const std::vector<std::size_t> group = groups(near);
      std::map<std::size_t, std::set<std::size_t>> members;
      for (std::size_t v = 0; v < columns(); ++v) members[group[v]].insert(top[v]);
      for (const auto& [first, tops] : members) {
        if (tops.size() < 2) continue;
        Device bridge;
        bridge.kind = Device::Kind::bridge;
        bridge.name = "pci" + std::to_string(bridges++);
        const std::size_t at = machine_.add(std::move(bridge));
        for (const std::size_t t : tops) pcie(at, t);
        for (std::size_t v = 0; v < columns(); ++v) {
          if (group[v] == first) top[v] = at;
        }
      }
    }
    const std::vector<std::size_t> group = groups(Near::node);
    std::map<std::size_t, std::set<std::size_t>> members;
    std::size_t unplaced = 0;
    for (std::size_t v = 0; v < columns(); ++v) {
      if (placed(v)) {
        members[group[v]].insert(top[v]);
      } else {
        ++unplaced;
      }
    }
    if (unplaced > 0)
      note("the file does not say where on PCIe " + std::to_string(unplaced) +
           " GPUs are: NVLink only");
    std::vector<std::size_t> sockets;
    for (const auto& [first, tops] : members) {
      Device socket;
      socket.kind = Device::Kind::socket;
      socket.name = "cpu" + std::to_string(sockets.size());
      sockets.push_back(machine_.add(std::move(socket)));
      for (const std::size_t t : tops) pcie(sockets.back(), t);
    }
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      for (std::size_t j = i + 1; j < sockets.size(); ++j) {
        machine_.wires.push_back(
            {Wire::Kind::between_sockets, sockets[i], sockets[j], std::nullopt, std::nullopt, ""});
      }
    }
  }

  const std::string& file_;
  std::vector<TextLine> lines_;
  std::size_t at_ = 0;
  Machine machine_;
  std::size_t header_ = 0;
  std::vector<std::string> names_;
  std::vector<std::vector<std::optional<Cell>>> cells_;
  std::vector<std::size_t> row_line_;  ///< 0: no row
  std::vector<std::string> affinity_;
  std::vector<ShortRow> short_rows_;
  std::map<std::size_t, std::string> real_name_;
};

}  // namespace

bool looks_like_smi_matrix(std::string_view text) {
  const std::vector<TextLine> lines = split(text.substr(0, 65'536));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (header_size(lines[i]) == 0) continue;
    for (std::size_t j = i + 1; j < std::min(lines.size(), i + 3); ++j) {
      const auto& words = lines[j].words;
      if (words.size() > 1 && is_gpu(words[0]) && is_device(words[0]) &&
          !cells_of(words[1]).empty())
        return true;
    }
  }
  return false;
}

Machine read_smi_matrix(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace stellwerk
