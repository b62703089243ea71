import { onlineManager } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"

const pollMs = 2000
let timer: ReturnType<typeof setTimeout> | undefined

/**
 * Records that the server can't be reached: requests wait and unsaved input is kept while the
 * server is polled. When it responds, waiting requests continue.
 */
export function reportUnreachable(): void {
  if (timer !== undefined) return
  onlineManager.setOnline(false)
  timer = setTimeout(poll, pollMs)
}

async function poll(): Promise<void> {
  const isReachable = await fetch("/debug/healthz", { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  )
  timer = isReachable ? undefined : setTimeout(poll, pollMs)
  if (isReachable) onlineManager.setOnline(true)
}

/** Whether the server is reachable, as far as known. */
export function useIsReachable(): boolean {
  return useSyncExternalStore(
    (changed) => onlineManager.subscribe(changed),
    () => onlineManager.isOnline(),
  )
}
