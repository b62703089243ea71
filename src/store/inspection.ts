/** A request to the inspection worker: `rest` is the ratio of pause to work. */
export type InspectionRequest = { readonly file: string; readonly pauseRatio: number }

/** `damage` describes damaged data; `refused` is why the inspection could not run. */
export type InspectionResult = {
  readonly damage?: string
  readonly failure?: { readonly name: string; readonly code: string; readonly message: string }
}

/** In the compiled binary, scripts/build.ts places the worker's entry point below the bundle. */
const workerUrl = () =>
  import.meta.url.endsWith("/inspection.ts")
    ? new URL("./inspection-worker.ts", import.meta.url)
    : new URL("./store/inspection-worker.js", import.meta.url)

/** Reads all stored data in a worker thread, and verifies checksums and indexes. */
export function createInspector(file: string) {
  let worker: Worker | undefined
  return {
    /** Undefined if it was stopped first. */
    inspect: (pauseRatio: number): Promise<InspectionResult> => {
      const { promise, resolve, reject } = Promise.withResolvers<InspectionResult>()
      const started = new Worker(workerUrl().href)
      worker = started
      started.addEventListener("message", (event: MessageEvent<InspectionResult>) =>
        resolve(event.data),
      )
      started.addEventListener("error", ({ message }) => reject(new Error(message)))
      started.addEventListener("close", () => {
        worker = undefined
        resolve({})
      })
      started.postMessage({ file, pauseRatio } satisfies InspectionRequest)
      return promise
    },
    stop: () => worker?.terminate(),
  }
}
