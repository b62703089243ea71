/** What an inspection is asked: `rest` is how often as long it pauses as it works. */
export type InspectionRequest = { readonly file: string; readonly rest: number }

/** `damage` names what is not as it was written; `refused` is why there was no looking. */
export type Inspected = {
  readonly damage?: string
  readonly refused?: { readonly name: string; readonly code: string; readonly message: string }
}

/** In the compiled binary scripts/build.ts puts the worker's entry point below the one bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/inspection.ts")
    ? new URL("./inspection-worker.ts", import.meta.url)
    : new URL("./store/inspection-worker.js", import.meta.url)

/** Reads all that is kept, in a thread of its own, and compares it with its sums and indexes. */
export function inspector(file: string) {
  let worker: Worker | undefined
  return {
    /** Undefined where it was stopped first. */
    inspect: (rest: number): Promise<Inspected> => {
      const { promise, resolve, reject } = Promise.withResolvers<Inspected>()
      const started = new Worker(workerUrl().href)
      worker = started
      started.addEventListener("message", (event: MessageEvent<Inspected>) => resolve(event.data))
      started.addEventListener("error", ({ message }) => reject(new Error(message)))
      started.addEventListener("close", () => {
        worker = undefined
        resolve({})
      })
      started.postMessage({ file, rest } satisfies InspectionRequest)
      return promise
    },
    stop: () => worker?.terminate(),
  }
}
