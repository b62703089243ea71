/**
 * Shares work among all who ask for it: who asks while it is under way waits for the next one, with
 * all who came since. So whatever happened before somebody asked, the work has seen.
 */
export function shareFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined
  let next: Promise<T> | undefined
  const start = (): Promise<T> => {
    const flight = work()
    current = flight
    const over = () => {
      if (current === flight) current = undefined
    }
    flight.then(over, over)
    return flight
  }
  return () => {
    if (next) return next
    if (!current) return start()
    const begin = () => {
      next = undefined
      return start()
    }
    next = current.then(begin, begin)
    return next
  }
}
