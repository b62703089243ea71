const pageSize = 65_536
const zeroPage = Buffer.alloc(pageSize)

/**
 * Saves the content of a memory. Returns a function that restores it and returns false if the
 * memory has grown, because it can't shrink.
 */
export function snapshotOf(memory: WebAssembly.Memory): () => boolean {
  const size = memory.buffer.byteLength
  const pages = Array.from({ length: size / pageSize }, (_, at) =>
    Buffer.from(memory.buffer, at * pageSize, pageSize),
  )
  // Most pages are zero, and reading unwritten pages uses no memory of the machine.
  const savedPages = pages.map((page) => (page.equals(zeroPage) ? zeroPage : Buffer.from(page)))
  return () => {
    if (memory.buffer.byteLength !== size) return false
    for (const [at, was] of savedPages.entries()) {
      const page = pages[at]
      if (page && !page.equals(was)) page.set(was)
    }
    return true
  }
}
