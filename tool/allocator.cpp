// jemalloc's settings, which it reads from this symbol.
//
// Planning fills and drops lists of a million small objects. On pages of 4 KB the faults and address look-ups take half
// of the time; on huge pages they vanish. glibc's allocator uses huge pages only where the environment says so.

extern "C" {
/// Huge pages for everything; freed pages are kept for a while (jemalloc's default of 10 s).
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,metadata_thp:auto";
}
