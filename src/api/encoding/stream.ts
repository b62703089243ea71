/** Resolves when nobody waits for a stream any more: its caller has gone, or the server goes. */
export function over(signal: AbortSignal): Promise<"over"> {
  return new Promise((resolve) => {
    const end = () => resolve("over")
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
  })
}
