// What a file says about one machine (or several): GPUs, NICs, how they are wired. Nothing is guessed here:
// what a file does not say stays unknown, and machine_topology fills it from tables or asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

struct Device {
  enum class Kind : std::uint8_t {
    gpu,
    nic,
    gpu_switch,  ///< NVSwitch: forwards between GPUs
    bridge,      ///< a PCIe switch
    socket,      ///< a CPU, or a NUMA node of one, with its host bridges
    network,     ///< a switch between machines
  };
  Kind kind = Kind::gpu;
  std::string name;                ///< "gpu0", "mlx5_0", "cpu1"; unique in a machine
  std::string id;                  ///< bus id, or the name in the file
  std::string host;                ///< of several machines; empty if there is one only
  std::string model;               ///< a row of the GPU table ("h100"); empty if unknown
  std::optional<Bandwidth> speed;  ///< NICs: of the port to the network, each direction
  std::optional<int> numa;
  std::optional<int> net;  ///< NICs: their number in NCCL, where the file tells it
};

const char* to_string(Device::Kind kind);

/// A cable or a trace between two devices, the same in both directions.
struct Wire {
  enum class Kind : std::uint8_t { nvlink, xgmi, pcie, between_sockets, network };
  Kind kind = Kind::pcie;
  std::size_t a = 0, b = 0;            ///< positions in Machine::devices
  std::optional<int> count;            ///< NVLink, xGMI: parallel links that it bundles
  std::optional<Bandwidth> bandwidth;  ///< each direction, of all of them together
  std::string source;                  ///< where `bandwidth` (or `count`) comes from
};

const char* to_string(Wire::Kind kind);

struct Machine {
  std::string name;
  std::string format;  ///< the kind of file it was read from
  std::vector<Device> devices;
  std::vector<Wire> wires;
  std::vector<std::string> notes;  ///< what was repaired or left out, one line each

  std::size_t add(Device device);
  std::vector<std::size_t> all(Device::Kind kind) const;
  std::size_t count(Device::Kind kind) const { return all(kind).size(); }
};

/// A GPU as its maker sells it: how many links it has and what one carries each way.
struct GpuModel {
  const char* name;
  Wire::Kind link;
  int links;               ///< 0: none
  std::int64_t megabytes;  ///< per second, one link, one direction
  bool switched;           ///< boards of eight join all of them through NVSwitch
  const char* pcie;        ///< link speed of its 16 lanes
  const char* source;
};

const std::vector<GpuModel>& gpu_models();
/// nullptr if there is none of this name.
const GpuModel* find_gpu_model(std::string_view name);

/// The model that a PCI vendor and device id belong to ("0x10de", "0x2330": h100); empty if unknown.
std::string model_of_pci_device(std::string_view vendor, std::string_view device);
/// The model that a compute capability (NVIDIA: 90) or a gfx number (AMD: "gfx942", "942") belongs to; empty
/// if unknown.
std::string model_of_sm(int sm);
std::string model_of_gfx(std::string_view gfx);

/// PCIe as NCCL counts it: bytes per second, each way, of `width` lanes at a link speed like "16.0 GT/s
/// PCIe". Nothing for a speed that is not in its table.
std::optional<Bandwidth> pcie_bandwidth(std::string_view speed, int width);

}  // namespace stellwerk
