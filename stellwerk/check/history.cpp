#include "stellwerk/check/history.hpp"

namespace stellwerk::check {

void History::begin(int gpus, int pieces) {
  gpus_ = gpus;
  pieces_ = pieces;
}

History::Id History::add(const Item& item) {
  if (items_.size() >= kMostItems) {
    full_ = true;
    return kNothing;
  }
  items_.push_back(item);
  return static_cast<Id>(items_.size() - 1);
}

History::Id History::addend(int gpu, int piece) {
  Item item;
  item.gpu = gpu;
  item.piece = piece;
  return add(item);
}

History::Id History::transfer(Id data, int from, int to, Step step, bool in_switch) {
  if (data == kNothing || from == to) return data;
  Item item;
  item.kind = Item::Kind::transfer;
  item.in_switch = in_switch;
  item.gpu = to;
  item.first = data;
  item.from = from;
  item.step = step;
  return add(item);
}

History::Id History::sum(Id a, Id b, int gpu) {
  if (a == kNothing) return b;
  if (b == kNothing) return a;
  Item item;
  item.kind = Item::Kind::sum;
  item.gpu = gpu;
  item.first = a;
  item.second = b;
  return add(item);
}

void History::result(int gpu, Id data) { results_.push_back({gpu, data}); }

std::string to_string(const History::Step& step) {
  return "GPU " + std::to_string(step.gpu) + ", thread block " + std::to_string(step.block) +
         ", step " + std::to_string(step.number);
}

}  // namespace stellwerk::check
