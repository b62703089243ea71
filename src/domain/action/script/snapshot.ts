const pageSize = 65_536
const zero = Buffer.alloc(pageSize)

/**
 * Keeps what a memory holds. What it answers puts all of it back, wherever somebody has written,
 * and answers false for a memory that has grown: that can't shrink again.
 */
export function snapshotOf(memory: WebAssembly.Memory): () => boolean {
  const size = memory.buffer.byteLength
  const pages = Array.from({ length: size / pageSize }, (_, at) =>
    Buffer.from(memory.buffer, at * pageSize, pageSize),
  )
  // Most of it is zero, and reading what nobody has written takes no memory of the machine.
  const kept = pages.map((page) => (page.equals(zero) ? zero : Buffer.from(page)))
  return () => {
    if (memory.buffer.byteLength !== size) return false
    for (const [at, was] of kept.entries()) {
      const page = pages[at]
      if (page && !page.equals(was)) page.set(was)
    }
    return true
  }
}
