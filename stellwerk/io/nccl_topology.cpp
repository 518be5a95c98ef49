#include "stellwerk/io/nccl_topology.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/xml.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostDevices = 20'000;
/// Each is joined to all others of its host.
constexpr std::size_t kMostSockets = 1024;
constexpr std::size_t kMostNotes = 1000;

/// NICs that claim more than this (Mbit/s) have a broken figure: some files hold 200000000.
constexpr std::int64_t kMaxNicMegabits = 3'200'000;

/// Numbers of NICs above this are not believed: NCCL has at most 32 in a host.
constexpr std::int64_t kMaxNet = 100'000;

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Machine read() {
    machine_.format = "NCCL topology XML";
    pugi::xml_document document;
    parse_xml(text_, file_, document);
    const pugi::xml_node system = document.child("system");
    if (!system) fail(document.first_child(), "there is no element <system>");
    // NVLink across hosts (GB200 NVL72): one dump holds several, which only their hashes tell apart.
    for (const pugi::xml_node cpu : system.children("cpu"))
      hosts_.try_emplace(cpu.attribute("host_hash").value(), hosts_.size());
    for (const pugi::xml_node cpu : system.children("cpu")) read_socket(cpu);
    if (machine_.count(Device::Kind::gpu) == 0) {
      fail(system,
           "there is no GPU in it (NCCL looks for those at run time): dump the whole topology with "
           "NCCL_TOPO_DUMP_FILE");
    }
    name_devices();
    connect_gpus();
    connect_sockets();
    return std::move(machine_);
  }

 private:
  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(xml_line(text_, node)) + ": " + what);
  }
  void note(const pugi::xml_node& node, const std::string& what) {
    if (machine_.notes.size() >= kMostNotes)
      fail(node, what + "; there are more than " + std::to_string(kMostNotes) +
                     " such lines: this is no topology of a machine");
    // From the note before, which is nearly always above: a search from the top each time would take hours.
    const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, node.offset_debug()));
    if (at < noted_at_) noted_at_ = noted_line_ = 0;
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(noted_at_);
    noted_line_ += static_cast<std::size_t>(
        std::count(begin, text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    noted_at_ = at;
    machine_.notes.push_back("line " + std::to_string(noted_line_ + 1) + ": " + what);
  }

  std::optional<std::int64_t> integer(const pugi::xml_node& node, const char* key) const {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) return std::nullopt;
    const std::string_view text = attribute.value();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(node, std::string(key) + "=" + in_quotes(text) + " is not a whole number");
    }
    return value;
  }

  void read_socket(const pugi::xml_node& cpu) {
    Device device;
    device.kind = Device::Kind::socket;
    const std::size_t number = hosts_.at(cpu.attribute("host_hash").value());
    host_ = hosts_.size() > 1 ? "host" + std::to_string(number) : "";
    device.host = host_;
    device.name = "cpu" + std::to_string(sockets_.size());
    if (const auto numa = integer(cpu, "numaid")) device.numa = static_cast<int>(*numa);
    const std::size_t socket = machine_.add(std::move(device));
    if (sockets_.size() == kMostSockets)
      fail(cpu, "more than " + std::to_string(kMostSockets) + " sockets are not one machine");
    sockets_.push_back(cpu);
    socket_of_.push_back(socket);
    for (const pugi::xml_node child : cpu.children()) read_child(child, socket, 0);
  }

  void read_child(const pugi::xml_node& node, std::size_t parent, int depth) {
    if (machine_.devices.size() > kMostDevices) {
      fail(node, "more than " + std::to_string(kMostDevices) + " devices are not one machine");
    }
    if (depth > kMaxXmlDepth) fail(node, "nested too deeply");  // parse_xml has refused it before
    const std::string_view tag = node.name();
    if (tag == "pci") {
      read_pci(node, parent, depth);
    } else if (tag == "nic") {
      for (const pugi::xml_node net : node.children("net")) read_net(net, parent, {});
    }
  }

  /// The wire up to the parent of a PCI device.
  Wire up(const pugi::xml_node& pci, std::size_t device, std::size_t parent) {
    Wire wire;
    wire.a = parent;
    wire.b = device;
    const std::string speed = pci.attribute("link_speed").value();
    int width = static_cast<int>(integer(pci, "link_width").value_or(0));
    // As NCCL does: a width of 0 is 16 lanes, an unknown speed is that of PCIe 3.
    std::string assumed;
    if (width <= 0) {
      width = 16;
      assumed = ", 16 lanes assumed";
    }
    wire.bandwidth = pcie_bandwidth(speed, width);
    if (!wire.bandwidth) {
      wire.bandwidth = pcie_bandwidth("8.0 GT/s PCIe", width);
      assumed = ", PCIe 3 assumed" + assumed;
    }
    if (!wire.bandwidth)
      fail(pci, "link_width=" + std::to_string(width) + " is not a number of PCIe lanes");
    wire.source =
        "PCIe x" + std::to_string(width) +
        (assumed.empty() ? " at " + speed + " from the file"
                         : (speed.empty() ? "" : " (" + one_line(speed) + ")") + assumed) +
        "; rate from NCCL's table";
    return wire;
  }

  void read_pci(const pugi::xml_node& pci, std::size_t parent, int depth) {
    const std::string id = lower_case(pci.attribute("busid").value());
    const std::string category = lower_case(pci.attribute("class").value());
    const bool has_gpu = static_cast<bool>(pci.child("gpu"));
    const bool has_nic = static_cast<bool>(pci.child("nic"));
    const bool leads_on = static_cast<bool>(pci.child("pci"));
    Device device;
    device.id = id;
    device.host = host_;
    if (has_gpu ||
        (!leads_on && (category.starts_with("0x03") || category.starts_with("0x1200")))) {
      device.kind = Device::Kind::gpu;
      device.model = model_of_pci_device(lower_case(pci.attribute("vendor").value()),
                                         lower_case(pci.attribute("device").value()));
    } else if (!leads_on && (has_nic || category.starts_with("0x02"))) {
      device.kind = Device::Kind::nic;
    } else if (leads_on || has_nic) {
      device.kind = Device::Kind::bridge;
    } else {
      return;  // a bridge that leads nowhere, an NVSwitch's PCI side, a disk
    }
    // Real files repeat the bus ids of switches; those of GPUs are what links lead to.
    if (device.kind == Device::Kind::gpu && !id.empty() &&
        !by_id_.emplace(std::pair(host_, id), machine_.devices.size()).second) {
      fail(pci, "busid " + in_quotes(id) + " is there twice");
    }
    if (device.kind == Device::Kind::gpu && has_gpu) {
      const pugi::xml_node gpu = pci.child("gpu");
      if (device.model.empty()) {
        device.model = gpu.attribute("gcn")
                           ? model_of_gfx(gpu.attribute("gcn").value())
                           : model_of_sm(static_cast<int>(integer(gpu, "sm").value_or(0)));
      }
    }
    if (device.kind == Device::Kind::nic && has_nic) {
      // A NIC with several ports is several NICs behind one PCIe link.
      const pugi::xml_node nic = pci.child("nic");
      const auto ports = std::distance(nic.children("net").begin(), nic.children("net").end());
      if (ports == 1) {
        read_net(*nic.children("net").begin(), parent, pci);
        return;
      }
      device.kind = Device::Kind::bridge;
    }
    const Device::Kind kind = device.kind;
    const std::size_t at = machine_.add(std::move(device));
    link_of_[at] = machine_.wires.size();
    machine_.wires.push_back(up(pci, at, parent));
    if (kind == Device::Kind::gpu) {
      gpus_.push_back({at, pci.child("gpu")});
      return;
    }
    for (const pugi::xml_node child : pci.children()) read_child(child, at, depth + 1);
  }

  /// A port; `pci` if it is the only one of its device.
  void read_net(const pugi::xml_node& net, std::size_t parent, std::optional<pugi::xml_node> pci) {
    Device device;
    device.kind = Device::Kind::nic;
    device.name = net.attribute("name").value();
    device.host = host_;
    const std::int64_t number = integer(net, "dev").value_or(-1);
    if (number >= 0 && number <= kMaxNet) device.net = static_cast<int>(number);
    if (pci) device.id = lower_case(pci->attribute("busid").value());
    const std::optional<std::int64_t> speed = integer(net, "speed");
    if (speed && *speed > 0 && *speed <= kMaxNicMegabits) {
      device.speed = Bandwidth{*speed * 125'000};
    } else if (speed) {
      note(net, "speed " + std::to_string(*speed) + " Mbit/s of " + one_line(device.name) +
                    " is not believed");
    }
    const std::size_t at = machine_.add(std::move(device));
    if (pci) {
      machine_.wires.push_back(up(*pci, at, parent));
    } else {
      machine_.wires.push_back(to_port(parent, at));
    }
  }

  /// The wire to a port that has no PCIe link of its own.
  Wire to_port(std::size_t parent, std::size_t port) const {
    Wire wire;
    wire.a = parent;
    wire.b = port;
    if (const auto link = link_of_.find(parent); link != link_of_.end()) {
      wire.bandwidth = machine_.wires[link->second].bandwidth;
      wire.source = "as its device has: " + machine_.wires[link->second].source;
    } else {
      wire.bandwidth = Bandwidth{5'000'000'000'000};
      wire.source =
          "no PCIe link in the file: 5 TB/s assumed from NCCL's table, which sets no limit";
    }
    return wire;
  }

  /// GPUs are named by their `dev`, or in the order of the file where that is missing or repeated in their host.
  void name_devices() {
    std::set<std::pair<std::string, std::int64_t>> numbers;
    bool usable = true;
    for (const auto& [at, gpu] : gpus_) {
      const auto dev = integer(gpu, "dev");
      usable =
          usable && dev && *dev >= 0 && numbers.emplace(machine_.devices[at].host, *dev).second;
    }
    std::map<std::string, std::int64_t> next;
    for (const auto& [at, gpu] : gpus_) {
      Device& device = machine_.devices[at];
      const std::int64_t place = next[device.host]++;
      device.name = "gpu" + std::to_string(usable ? *integer(gpu, "dev") : place);
    }
    std::set<std::string> taken;
    std::size_t nics = 0, bridges = 0;
    for (Device& device : machine_.devices) {
      if (device.kind == Device::Kind::nic && device.name.empty())
        device.name = "nic" + std::to_string(nics);
      if (device.kind == Device::Kind::nic) ++nics;
      if (device.kind == Device::Kind::bridge) device.name = "pci" + std::to_string(bridges++);
      if (!device.host.empty()) device.name = device.host + "." + device.name;
      for (std::string name = device.name; !taken.insert(device.name).second;) {
        name += "'";
        device.name = name;
      }
    }
    if (hosts_.size() > 1)
      machine_.notes.push_back("the file holds " + std::to_string(hosts_.size()) +
                               " hosts, told apart by host_hash: host0, host1, ...");
  }

  /// NVLink and xGMI. Both ends list a cable; what only one lists counts all the same.
  void connect_gpus() {
    std::map<std::pair<std::size_t, std::size_t>, int> counts;
    std::map<std::pair<std::size_t, std::size_t>, int> listed;  // from one end, all its elements
    std::map<std::size_t, int> to_switch;
    std::size_t missing = 0;
    std::string first_missing;
    Wire::Kind kind = Wire::Kind::nvlink;
    for (const auto& [at, gpu] : gpus_) {
      for (const pugi::xml_node link : gpu.children()) {
        const std::string_view tag = link.name();
        if (tag != "nvlink" && tag != "xgmi") continue;
        if (tag == "xgmi") kind = Wire::Kind::xgmi;
        const std::int64_t count = integer(link, "count").value_or(1);
        if (count < 1 || count > 1000)
          fail(link, "count=" + std::to_string(count) + " is not a number of links");
        const std::string target = lower_case(link.attribute("target").value());
        const std::string category = lower_case(link.attribute("tclass").value());
        if (category.starts_with("0x0680")) {
          if (category == "0x068000") to_switch[at] += static_cast<int>(count);
          continue;  // 0x068001: a CPU with NVLink (POWER), which the tree shows already
        }
        const auto found = by_id_.find({machine_.devices[at].host, target});
        if (found == by_id_.end()) {
          if (missing == 0)
            first_missing = "line " + std::to_string(xml_line(text_, link)) + ": " +
                            machine_.devices[at].name + " to " + in_quotes(target);
          ++missing;
          continue;
        }
        if (found->second == at) {
          note(link, std::to_string(count) + " links of " + machine_.devices[at].name +
                         " lead to itself: left out, their other ends are not in the file");
          continue;
        }
        listed[{at, found->second}] += static_cast<int>(count);
      }
    }
    for (const auto& [ends, count] : listed) {
      int& both = counts[std::minmax(ends.first, ends.second)];
      both = std::max(both, count);
    }
    if (missing > 0) {
      machine_.notes.push_back(
          std::to_string(missing) +
          " elements name links to GPUs that are not in the file (the first, " + first_missing +
          "): left out, as NCCL does for a job on some GPUs");
    }
    const char* source = "links counted in the file";
    if (!to_switch.empty()) {
      Device device;
      device.kind = Device::Kind::gpu_switch;
      device.name = "nvswitch";
      const std::size_t hub = machine_.add(std::move(device));
      for (const auto& [gpu, count] : to_switch) {
        machine_.wires.push_back({Wire::Kind::nvlink, gpu, hub, count, std::nullopt, source});
      }
    }
    for (const auto& [ends, count] : counts) {
      machine_.wires.push_back({kind, ends.first, ends.second, count, std::nullopt, source});
    }
  }

  /// NCCL's rates between sockets, by vendor and model.
  void connect_sockets() {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      for (std::size_t j = i + 1; j < sockets_.size(); ++j) {
        if (machine_.devices[socket_of_[i]].host != machine_.devices[socket_of_[j]].host) continue;
        Wire wire;
        wire.kind = Wire::Kind::between_sockets;
        wire.a = socket_of_[i];
        wire.b = socket_of_[j];
        wire.bandwidth = between(sockets_[i]);
        wire.source = "between sockets: from NCCL's table for " + vendor(sockets_[i]);
        machine_.wires.push_back(std::move(wire));
      }
    }
  }

  std::string vendor(const pugi::xml_node& cpu) const {
    const std::string_view arch = cpu.attribute("arch").value();
    if (arch == "arm64" || arch == "ppc64") return std::string(arch);
    const std::string_view name = cpu.attribute("vendor").value();
    return name.empty() ? "x86_64" : one_line(name);
  }

  Bandwidth between(const pugi::xml_node& cpu) const {
    const std::string_view arch = cpu.attribute("arch").value();
    const std::string_view name = cpu.attribute("vendor").value();
    const std::int64_t model = integer(cpu, "modelid").value_or(0);
    constexpr std::int64_t gb = 1'000'000'000;
    if (arch == "ppc64") return {32 * gb};
    if (arch == "arm64") return {6 * gb};
    if (name == "AuthenticAMD") return {16 * gb};
    if (name == "GenuineIntel" && model >= 0xCF) return {40 * gb};
    if (name == "GenuineIntel" && model >= 0x8F) return {22 * gb};
    return {6 * gb};
  }

  std::string_view text_;
  const std::string& file_;
  Machine machine_;
  std::vector<pugi::xml_node> sockets_;
  std::vector<std::size_t> socket_of_;
  struct Gpu {
    std::size_t at;
    pugi::xml_node element;  ///< may be missing
  };
  std::vector<Gpu> gpus_;
  std::map<std::pair<std::string, std::string>, std::size_t> by_id_;  ///< by host and bus id
  std::map<std::size_t, std::size_t> link_of_;                        ///< by PCI device, its wire
  std::map<std::string, std::size_t> hosts_;                          ///< by hash, their numbers
  std::string host_;  ///< of the socket that is read; empty if the file has one only
  std::size_t noted_at_ = 0, noted_line_ = 0;  // of the last note: offset, lines before it
};

}  // namespace

bool looks_like_nccl_topology(std::string_view text) {
  while (true) {
    const std::size_t start = text.find('<');
    if (start == std::string_view::npos) return false;
    text.remove_prefix(start);
    if (text.starts_with("<!--")) {
      const std::size_t end = text.find("-->");
      if (end == std::string_view::npos) return false;
      text.remove_prefix(end + 3);
    } else if (text.starts_with("<?")) {
      text.remove_prefix(2);
    } else {
      return text.starts_with("<system");
    }
  }
}

Machine read_nccl_topology(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace stellwerk
