#include "stellwerk/io/machine.hpp"

#include <array>
#include <charconv>

namespace stellwerk {

const char* to_string(Device::Kind kind) {
  switch (kind) {
    case Device::Kind::gpu:
      return "GPU";
    case Device::Kind::nic:
      return "NIC";
    case Device::Kind::gpu_switch:
      return "GPU switch";
    case Device::Kind::bridge:
      return "PCIe switch";
    case Device::Kind::socket:
      return "socket";
    case Device::Kind::network:
      return "network switch";
  }
  return "";
}

const char* to_string(Wire::Kind kind) {
  switch (kind) {
    case Wire::Kind::nvlink:
      return "NVLink";
    case Wire::Kind::xgmi:
      return "xGMI";
    case Wire::Kind::pcie:
      return "PCIe";
    case Wire::Kind::between_sockets:
      return "between sockets";
    case Wire::Kind::network:
      return "network";
  }
  return "";
}

std::size_t Machine::add(Device device) {
  devices.push_back(std::move(device));
  return devices.size() - 1;
}

std::vector<std::size_t> Machine::all(Device::Kind kind) const {
  std::vector<std::size_t> result;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].kind == kind) result.push_back(d);
  }
  return result;
}

const std::vector<GpuModel>& gpu_models() {
  constexpr Wire::Kind nv = Wire::Kind::nvlink;
  constexpr Wire::Kind xgmi = Wire::Kind::xgmi;
  static const std::vector<GpuModel> models = {
      {"p100", nv, 4, 20'000, false, "8 GT/s", "P100 data sheet: 4 NVLink 1 of 20 GB/s each way"},
      {"v100", nv, 6, 25'000, false, "8 GT/s", "V100 data sheet: 6 NVLink 2 of 25 GB/s each way"},
      {"a100", nv, 12, 25'000, true, "16 GT/s", "A100 data sheet: 12 NVLink 3 of 25 GB/s each way"},
      {"a100-pcie", nv, 12, 25'000, false, "16 GT/s",
       "A100 data sheet: 12 NVLink 3 of 25 GB/s each way"},
      {"a800", nv, 8, 25'000, true, "16 GT/s", "A800: 8 NVLink 3 of 25 GB/s each way"},
      {"h100", nv, 18, 25'000, true, "32 GT/s", "H100 data sheet: 18 NVLink 4 of 25 GB/s each way"},
      {"h800", nv, 8, 25'000, true, "32 GT/s", "H800: 8 NVLink 4 of 25 GB/s each way"},
      {"h200", nv, 18, 25'000, true, "32 GT/s", "H200 data sheet: 18 NVLink 4 of 25 GB/s each way"},
      {"h20", nv, 18, 25'000, true, "32 GT/s", "H20: 18 NVLink 4 of 25 GB/s each way"},
      {"b200", nv, 18, 50'000, true, "32 GT/s", "B200 data sheet: 18 NVLink 5 of 50 GB/s each way"},
      {"b300", nv, 18, 50'000, true, "64 GT/s", "B300 data sheet: 18 NVLink 5 of 50 GB/s each way"},
      {"pcie3", nv, 0, 0, false, "8 GT/s", "any GPU on PCIe 3 without NVLink"},
      {"pcie4", nv, 0, 0, false, "16 GT/s", "any GPU on PCIe 4 without NVLink"},
      {"pcie5", nv, 0, 0, false, "32 GT/s", "any GPU on PCIe 5 without NVLink"},
      {"a10g", nv, 0, 0, false, "16 GT/s", "A10G: no NVLink"},
      {"l40s", nv, 0, 0, false, "16 GT/s", "L40S: no NVLink"},
      {"rtx5090", nv, 0, 0, false, "32 GT/s", "RTX 5090: no NVLink"},
      {"mi50", xgmi, 2, 46'000, false, "16 GT/s",
       "MI50 data sheet: 2 Infinity Fabric of 46 GB/s each way"},
      {"mi100", xgmi, 3, 46'000, false, "16 GT/s",
       "MI100 data sheet: 3 Infinity Fabric of 46 GB/s each way"},
      {"mi210", xgmi, 3, 50'000, false, "16 GT/s",
       "MI210 data sheet: 3 Infinity Fabric of 50 GB/s each way"},
      {"mi250", xgmi, 8, 50'000, false, "16 GT/s",
       "CDNA 2 white paper: Infinity Fabric of 50 GB/s each way a link"},
      {"mi300a", xgmi, 3, 64'000, false, "32 GT/s",
       "MI300A data sheet: Infinity Fabric of 64 GB/s each way a link"},
      {"mi300x", xgmi, 7, 64'000, false, "32 GT/s",
       "MI300X data sheet: 7 Infinity Fabric of 64 GB/s each way"},
      {"mi325x", xgmi, 7, 64'000, false, "32 GT/s",
       "MI325X data sheet: 7 Infinity Fabric of 64 GB/s each way"},
      {"mi355x", xgmi, 7, 76'800, false, "32 GT/s",
       "MI355X data sheet: 7 Infinity Fabric of 76.8 GB/s each way"},
  };
  return models;
}

const GpuModel* find_gpu_model(std::string_view name) {
  for (const GpuModel& model : gpu_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

std::string model_of_pci_device(std::string_view vendor, std::string_view device) {
  struct Row {
    std::string_view vendor, device;
    const char* model;
  };
  // From the public list of PCI ids.
  static constexpr std::array<Row, 32> rows = {{
      {"0x10de", "0x15f8", "p100"},      {"0x10de", "0x15f9", "p100"},
      {"0x10de", "0x1db0", "v100"},      {"0x10de", "0x1db1", "v100"},
      {"0x10de", "0x1db3", "v100"},      {"0x10de", "0x1db5", "v100"},
      {"0x10de", "0x1db8", "v100"},      {"0x10de", "0x20b0", "a100"},
      {"0x10de", "0x20b2", "a100"},      {"0x10de", "0x20b1", "a100-pcie"},
      {"0x10de", "0x20b5", "a100-pcie"}, {"0x10de", "0x20bd", "a800"},
      {"0x10de", "0x2330", "h100"},      {"0x10de", "0x2324", "h800"},
      {"0x10de", "0x2335", "h200"},      {"0x10de", "0x2329", "h20"},
      {"0x10de", "0x2901", "b200"},      {"0x10de", "0x2941", "b200"},
      {"0x10de", "0x2237", "a10g"},      {"0x10de", "0x26b9", "l40s"},
      {"0x10de", "0x2b85", "rtx5090"},   {"0x1002", "0x66a0", "mi50"},
      {"0x1002", "0x66a1", "mi50"},      {"0x1002", "0x738c", "mi100"},
      {"0x1002", "0x740f", "mi210"},     {"0x1002", "0x7408", "mi250"},
      {"0x1002", "0x740c", "mi250"},     {"0x1002", "0x74a0", "mi300a"},
      {"0x1002", "0x74a1", "mi300x"},    {"0x1002", "0x74b5", "mi300x"},
      {"0x1002", "0x74a5", "mi325x"},    {"0x1002", "0x75a3", "mi355x"},
  }};
  for (const Row& row : rows) {
    if (row.vendor == vendor && row.device == device) return row.model;
  }
  return "";
}

std::string model_of_sm(int sm) {
  switch (sm) {
    case 60:
      return "p100";
    case 70:
      return "v100";
    case 80:
      return "a100";
    case 90:
      return "h100";
    case 100:
      return "b200";
    case 103:
      return "b300";
    default:
      return "";
  }
}

std::string model_of_gfx(std::string_view gfx) {
  if (gfx.starts_with("gfx")) gfx.remove_prefix(3);
  if (gfx == "906") return "mi50";
  if (gfx == "908") return "mi100";
  if (gfx == "910" || gfx == "90a") return "mi250";
  if (gfx == "940" || gfx == "941") return "mi300a";
  if (gfx == "942") return "mi300x";
  if (gfx == "950") return "mi355x";
  return "";
}

std::optional<Bandwidth> pcie_bandwidth(std::string_view speed, int width) {
  const std::size_t digits = speed.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string_view::npos ||
      speed.substr(digits).find("GT/s") == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view number = speed.substr(0, digits);
  if (number.ends_with(".0")) number.remove_suffix(2);
  // Bytes per second and lane, each way, as NCCL 2.30 counts them.
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> lanes = {
      {{"2.5", 187'500'000},
       {"5", 375'000'000},
       {"8", 750'000'000},
       {"16", 1'500'000'000},
       {"32", 3'000'000'000},
       {"64", 6'000'000'000}}};
  for (const auto& [rate, lane] : lanes) {
    if (rate == number && width >= 1 && width <= 32) return Bandwidth{lane * width};
  }
  return std::nullopt;
}

}  // namespace stellwerk
