// 128-bit integers, for products of bytes, rates and times that must stay exact.
#pragma once

namespace stellwerk {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

}  // namespace stellwerk
