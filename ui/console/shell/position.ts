import { type DescMessage, equals, isMessage } from "@bufbuild/protobuf"
import type { Interceptor } from "@connectrpc/connect"
import { useEffect } from "react"

const positionHeader = "x-core-position"

/** The position at which each response was current, by message. */
const positions = new WeakMap<object, bigint>()

/** Records the position of every response. */
export const recordPositions: Interceptor = (next) => async (request) => {
  const response = await next(request)
  const position = response.header.get(positionHeader)
  if (!response.stream && position) positions.set(response.message, BigInt(position))
  return response
}

/**
 * Keeps the displayed message if a newer response is equal, to avoid rendering. The position of the
 * newer response then applies to it.
 */
export const structuralSharing =
  <O extends DescMessage>(schema: O) =>
  (before: unknown, fresh: unknown): unknown => {
    if (!isMessage(before, schema) || !isMessage(fresh, schema)) return fresh
    if (!equals(schema, before, fresh)) return fresh
    const position = positions.get(fresh)
    if (position !== undefined) positions.set(before, position)
    return before
  }

/** Messages that the page displays, once per component that reads them. */
const shownMessages = new Set<{ readonly message: object }>()

/**
 * Registers a message while a component that displays it is on the page, including while it is
 * suspended and hidden, when layout effects have been cleaned up.
 */
export function useShownMessage(message: object | null | undefined): void {
  useEffect(() => {
    if (!message) return
    const entry = { message }
    shownMessages.add(entry)
    return () => {
      shownMessages.delete(entry)
    }
  }, [message])
}

/**
 * The position at which everything on the page was current: that of the oldest response. A response
 * that is not rendered yet doesn't count.
 */
export function shownPosition(): bigint | undefined {
  let oldest: bigint | undefined
  for (const { message } of shownMessages) {
    const position = positions.get(message)
    if (position !== undefined && (oldest === undefined || position < oldest)) oldest = position
  }
  return oldest
}
