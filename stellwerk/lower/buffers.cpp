#include "stellwerk/lower/buffers.hpp"

#include <map>

namespace stellwerk::lower {

Buffers::Buffers(const Problem& problem, bool in_place)
    : problem_(problem), collective_(problem.jobs.front().collective), in_place_(in_place) {
  const Job& job = problem.jobs.front();
  ranks_ = static_cast<int>(job.ranks.size());
  cut_ = job.chunks;
  root_ = job.root;
  const bool whole = row(collective_).whole_buffer;
  chunks_ = whole ? cut_ : ranks_ * cut_;
  input_size_ = collective_ == Collective::allgather ? cut_ : chunks_;
  output_size_ = collective_ == Collective::reducescatter ? cut_ : chunks_;
  if (in_place_) (collective_ == Collective::allgather ? input_size_ : output_size_) = 0;
  std::map<NodeId, int> rank;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) rank[job.ranks[r]] = static_cast<int>(r);
  for (const Chunk& chunk : problem.chunks) owner_.push_back(rank.at(chunk.owner));
}

Place Buffers::input(int offset) const { return {Buffer::input, offset}; }

Place Buffers::output(int rank, int offset) const {
  if (!in_place_ || collective_ == Collective::allgather) return {Buffer::output, offset};
  return input(collective_ == Collective::reducescatter ? rank * cut_ + offset : offset);
}

std::optional<Place> Buffers::before(ChunkId chunk, int rank) const {
  const int slot = static_cast<int>(problem_.chunks[chunk].slot);
  const bool own = owner_[chunk.index()] == rank;
  switch (collective_) {
    case Collective::allgather:
      if (!own) return std::nullopt;
      return in_place_ ? output(rank, slot) : input(slot - rank * cut_);
    case Collective::alltoall:
    case Collective::broadcast:
      return own ? std::optional(input(slot)) : std::nullopt;
    default:  // sums: everybody has an addend
      return input(slot);
  }
}

std::optional<Place> Buffers::after(ChunkId chunk, int rank) const {
  const int slot = static_cast<int>(problem_.chunks[chunk].slot);
  const int owner = owner_[chunk.index()];
  switch (collective_) {
    case Collective::alltoall:
      if (slot / cut_ != rank) return std::nullopt;
      return output(rank, owner * cut_ + slot % cut_);
    case Collective::reducescatter:
      return owner == rank ? std::optional(output(rank, slot % cut_)) : std::nullopt;
    case Collective::reduce:
      return rank == root_ ? std::optional(output(rank, slot)) : std::nullopt;
    default:  // everybody wants it
      return output(rank, slot);
  }
}

std::vector<std::pair<Place, Place>> Buffers::own_copies(int rank) const {
  std::vector<std::pair<Place, Place>> result;
  if (in_place_) return result;
  for (int k = 0; k < cut_; ++k) {
    if (collective_ == Collective::allgather)
      result.emplace_back(input(k), output(rank, rank * cut_ + k));
    if (collective_ == Collective::alltoall)
      result.emplace_back(input(rank * cut_ + k), output(rank, rank * cut_ + k));
    if (collective_ == Collective::broadcast && rank == root_)
      result.emplace_back(input(k), output(rank, k));
  }
  return result;
}

}  // namespace stellwerk::lower
