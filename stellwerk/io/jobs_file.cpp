#include "stellwerk/io/jobs_file.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/parts.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr std::size_t kMostJobs = 100'000;

Collective collective_at(const json::Place& place) {
  const std::string_view text = place.text();
  std::vector<std::string_view> names;
  for (const CollectiveRow& candidate : collectives()) {
    if (candidate.name == text) return candidate.collective;
    names.push_back(candidate.name);
  }
  std::string guess = did_you_mean(text, names);
  if (guess.empty()) {
    guess = ": use one of";
    for (const std::string_view name : names) guess += " " + std::string(name);
  }
  place.fail("there is no collective " + in_quotes(text) + guess);
}

std::vector<NodeId> nodes_at(const json::Place& place, const NodeNames& names) {
  std::vector<NodeId> result(place.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = names.at(place[i]);
  return result;
}

CustomChunk custom_chunk_at(const json::Place& place, const NodeNames& names) {
  place.expect_keys({"bytes", "origins", "destinations", "ready", "contributors"});
  CustomChunk chunk;
  chunk.bytes = place.at("bytes").bytes();
  chunk.destinations = nodes_at(place.at("destinations"), names);
  if (const auto origins = place.find("origins")) chunk.origins = nodes_at(*origins, names);
  if (const auto ready = place.find("ready")) chunk.ready = ready->time();
  if (const auto list = place.find("contributors"); list && !list->is_null()) {
    chunk.contributors = nodes_at(*list, names);
  }
  if (chunk.origins.empty() == chunk.contributors.empty()) {
    place.fail("give either origins, or contributors for a reduction");
  }
  return chunk;
}

/// Whoever the chunks of a custom job name, in the order of the topology.
std::vector<NodeId> named_in(const std::vector<CustomChunk>& chunks) {
  std::vector<NodeId> result;
  for (const CustomChunk& chunk : chunks) {
    for (const auto* nodes : {&chunk.origins, &chunk.destinations, &chunk.contributors}) {
      result.insert(result.end(), nodes->begin(), nodes->end());
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<NodeId> ranks_at(const json::Place& place, const Topology& topology,
                             const NodeNames& names) {
  if (place.is_text()) {
    if (place.text() != "all") {
      place.fail("must be a list of node names or \"all\", not " + in_quotes(place.text()));
    }
    return topology.gpus();
  }
  return nodes_at(place, names);
}

std::vector<std::vector<Bytes>> matrix_at(const json::Place& job, const std::string& name,
                                          std::size_t ranks) {
  const json::Place place = job.at("bytes");
  // As check_job says it, but before memory is filled.
  const auto expect = [&](std::size_t count, const std::string& what) {
    if (count != ranks)
      job.fail("job '" + name + "': " + what + ", but the job has " + std::to_string(ranks) +
               " ranks");
  };
  expect(place.size(), "bytes has " + std::to_string(place.size()) + " rows");
  std::vector<std::vector<Bytes>> matrix(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    const json::Place row = place[i];
    expect(row.size(),
           "row " + std::to_string(i) + " of bytes has " + std::to_string(row.size()) + " entries");
    matrix[i].resize(ranks);
    for (std::size_t j = 0; j < ranks; ++j) matrix[i][j] = row[j].bytes();
  }
  return matrix;
}

void read_chunk_count(Job& job, const json::Place& place, JobForm form) {
  if (!place.is_text()) {
    job.chunks = static_cast<int>(place.integer(1, kMaxInt));
    return;
  }
  if (place.text() != "auto") {
    place.fail("must be a number or \"auto\", not " + in_quotes(place.text()));
  }
  if (form == JobForm::plan) {
    place.fail("a plan records the number of chunks that was chosen, not \"auto\"");
  }
  job.auto_chunks = true;
}

Job job_at(const json::Place& place, const Topology& topology, const NodeNames& names, JobForm form,
           std::int64_t images) {
  place.expect_keys(
      {"name", "collective", "ranks", "size", "chunks", "root", "start", "weight", "bytes"});
  Job job;
  job.name = place.at("name").text();
  job.collective = collective_at(place.at("collective"));
  const bool custom = job.collective == Collective::custom;
  const bool matrix = job.collective == Collective::alltoallv;
  if (custom) {
    const json::Place list = place.at("chunks");
    if (!list.is_array()) list.fail("of a custom job must be a list of chunks, not " + list.kind());
    for (std::size_t i = 0; i < list.size(); ++i) {
      job.custom.push_back(custom_chunk_at(list[i], names));
    }
  } else if (const auto count = place.find("chunks")) {
    read_chunk_count(job, *count, form);
  }
  if (custom && !place.find("ranks")) {
    job.ranks = named_in(job.custom);
  } else {
    job.ranks = ranks_at(place.at("ranks"), topology, names);
  }
  const auto bytes = place.find("bytes");
  if (bytes && !matrix) bytes->fail("is for alltoallv only: use size, or chunks in a custom job");
  const auto size = place.find("size");
  if (size && (custom || matrix)) {
    size->fail(matrix ? "alltoallv takes its sizes from bytes: remove size"
                      : "a custom job takes its sizes from chunks: remove size");
  }
  if (matrix) job.matrix = matrix_at(place, job.name, job.ranks.size());
  if (!custom && !matrix) job.size = place.at("size").bytes();
  if (const auto root = place.find("root")) job.root = static_cast<int>(root->integer(0, kMaxInt));
  if (const auto start = place.find("start")) job.start = start->time();
  if (const auto weight = place.find("weight")) {
    job.weight = weight->integer(1, std::numeric_limits<std::int64_t>::max());
  }
  try {
    check_job(topology, job, images);
  } catch (const Error& error) {
    place.fail(error.what());
  }
  return job;
}

std::string name_list(const std::vector<NodeId>& nodes, const Topology& topology) {
  std::string text = "[";
  for (const NodeId id : nodes) {
    if (text.size() > 1) text += ", ";
    text += json::quote(topology.node(id).name);
  }
  return text + "]";
}

std::string custom_chunk_text(const CustomChunk& chunk, const Topology& topology) {
  std::string text = "{\"bytes\": " + std::to_string(chunk.bytes.value);
  if (!chunk.origins.empty()) text += ", \"origins\": " + name_list(chunk.origins, topology);
  text += ", \"destinations\": " + name_list(chunk.destinations, topology);
  if (chunk.ready.ps != 0) text += ", \"ready\": " + json::quote(to_exact_string(chunk.ready));
  if (!chunk.contributors.empty()) {
    text += ", \"contributors\": " + name_list(chunk.contributors, topology);
  }
  return text + "}";
}

}  // namespace

std::vector<Job> jobs_at(const json::Place& place, const Topology& topology, JobForm form,
                         std::int64_t images) {
  if (place.size() > kMostJobs)
    place.fail("has " + std::to_string(place.size()) + " jobs: at most " +
               std::to_string(kMostJobs) + " are read");
  const NodeNames names(topology);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < place.size(); ++i) {
    jobs.push_back(job_at(place[i], topology, names, form, images));
  }
  try {
    check_jobs(topology, jobs, images);
  } catch (const Error& error) {
    place.fail(error.what());
  }
  return jobs;
}

Job single_job_at(const json::Place& place, const Topology& topology) {
  return job_at(place, topology, NodeNames(topology), JobForm::file, 1);
}

void append_jobs(std::string& text, const std::vector<Job>& jobs, const Topology& topology,
                 JobForm form, std::string_view indent) {
  const std::string line = "\n" + std::string(indent);
  text += "[";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    text += (i > 0 ? "," : "") + line + "  {\"name\": " + json::quote(job.name);
    const auto field = [&](std::string_view key, const std::string& value) {
      text += ", \"" + std::string(key) + "\": " + value;
    };
    field("collective", json::quote(to_string(job.collective)));
    const bool all = form == JobForm::file && job.ranks == topology.gpus();
    field("ranks", all ? "\"all\"" : name_list(job.ranks, topology));
    const bool custom = job.collective == Collective::custom;
    const bool matrix = job.collective == Collective::alltoallv;
    if (!custom && !matrix) {
      field("size", form == JobForm::plan ? std::to_string(job.size.value)
                                          : json::quote(to_exact_string(job.size)));
    }
    if (!custom) {
      const bool automatic = job.auto_chunks && form == JobForm::file;
      field("chunks", automatic ? "\"auto\"" : std::to_string(job.chunks));
    }
    if (row(job.collective).rooted || job.root != 0) field("root", std::to_string(job.root));
    if (job.start.ps != 0) field("start", json::quote(to_exact_string(job.start)));
    if (job.weight != 1) field("weight", std::to_string(job.weight));
    if (matrix) {
      text += "," + line + "   \"bytes\": [";
      for (std::size_t r = 0; r < job.matrix.size(); ++r) {
        text += (r > 0 ? "," : "") + line + "     [";
        for (std::size_t c = 0; c < job.matrix[r].size(); ++c) {
          text += (c > 0 ? ", " : "") + std::to_string(job.matrix[r][c].value);
        }
        text += "]";
      }
      text += "]";
    }
    if (custom) {
      text += "," + line + "   \"chunks\": [";
      for (std::size_t k = 0; k < job.custom.size(); ++k) {
        text += (k > 0 ? "," : "") + line + "     " + custom_chunk_text(job.custom[k], topology);
      }
      text += "]";
    }
    text += "}";
  }
  text += line + "]";
}

std::vector<Job> parse_jobs(std::string_view text, const std::string& label,
                            const Topology& topology) {
  const json::Document document(text, label, json::Origin::own);
  const json::Place root(document);
  json::expect_format(root, kJobsFormat);
  root.expect_keys({"format", "jobs"});
  return jobs_at(root.at("jobs"), topology, JobForm::file);
}

std::vector<Job> read_jobs(const std::string& path, const Topology& topology) {
  return parse_jobs(read_file(path), path, topology);
}

std::string format_jobs(const std::vector<Job>& jobs, const Topology& topology) {
  std::string text = "{\n  \"format\": " + json::quote(kJobsFormat) + ",\n  \"jobs\": ";
  append_jobs(text, jobs, topology, JobForm::file, "  ");
  return text + "\n}\n";
}

void write_jobs(const std::vector<Job>& jobs, const Topology& topology, const std::string& path) {
  write_file(path, format_jobs(jobs, topology));
}

}  // namespace stellwerk
