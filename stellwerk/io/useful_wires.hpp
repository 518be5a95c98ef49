// Which of a machine's wires a plan has use for.
#pragma once

#include <vector>

#include "stellwerk/io/machine.hpp"

namespace stellwerk {

bool between_gpus(const Wire& wire);

/// By position in `machine.wires`. Where NVLink or xGMI joins all GPUs of a host, no runtime sends between those over PCIe: of
/// PCIe and the wires between sockets only the ways from each NIC that is plugged in to its nearest GPUs are kept. Nearest
/// are those below the lowest PCIe switch (or else socket) above the NIC that has any, or those of the nearest other
/// sockets where its own has none. PCIe switches above that switch are kept, too: they join it to more GPUs without a socket
/// between. Of other hosts everything is kept. Precondition: wires of PCIe have the parent as `a`, and form a forest.
std::vector<bool> useful_wires(const Machine& machine);

}  // namespace stellwerk
