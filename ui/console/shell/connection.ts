import { onlineManager } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"

const askEveryMs = 2000
let asking: ReturnType<typeof setTimeout> | undefined

/**
 * The server could not be reached: readings wait, what is typed stays, and it is asked until it
 * answers. Then whatever waited goes on by itself.
 */
export function reportUnreachable(): void {
  if (asking !== undefined) return
  onlineManager.setOnline(false)
  asking = setTimeout(ask, askEveryMs)
}

async function ask(): Promise<void> {
  const isThere = await fetch("/debug/healthz", { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  )
  asking = isThere ? undefined : setTimeout(ask, askEveryMs)
  if (isThere) onlineManager.setOnline(true)
}

/** Whether the server answers, as far as anybody knows. */
export function useIsReachable(): boolean {
  return useSyncExternalStore(
    (changed) => onlineManager.subscribe(changed),
    () => onlineManager.isOnline(),
  )
}
