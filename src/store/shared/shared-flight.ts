/**
 * Shares work among all who ask for it: who asks while it is under way waits for the next one, with
 * all who came since. It begins when whatever came in together has been looked at, so that those
 * who ask in one turn share it, too. So whatever happened before somebody asked, the work has seen.
 */
export function shareFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let gathering: Promise<T> | undefined
  let flying: Promise<unknown> | undefined
  const fly = async (): Promise<T> => {
    await (flying ?? new Promise((resolve) => setImmediate(resolve)))
    gathering = undefined
    const flight = work()
    const over = flight.then(nothing, nothing).then(() => {
      if (flying === over) flying = undefined
    })
    flying = over
    return flight
  }
  return () => {
    gathering ??= fly()
    return gathering
  }
}

const nothing = () => undefined
