/** Resolves when a stream ends because its caller disconnects or the server stops. */
export function waitForAbort(signal: AbortSignal): Promise<"over"> {
  return new Promise((resolve) => {
    const end = () => resolve("over")
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
  })
}
