import { type DescMessage, equals, isMessage } from "@bufbuild/protobuf"
import type { Interceptor } from "@connectrpc/connect"
import { useEffect } from "react"

const positionHeader = "x-core-position"

/** How far each answer is known to be current, by its message. */
const positions = new WeakMap<object, bigint>()

/** Notes the position of every answer. */
export const notePositions: Interceptor = (next) => async (request) => {
  const response = await next(request)
  const position = response.header.get(positionHeader)
  if (!response.stream && position) positions.set(response.message, BigInt(position))
  return response
}

/**
 * Keeps the message that is shown where a newer answer equals it, so that nothing is drawn again.
 * The position of the newer answer then applies to the message that is kept.
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

/** The messages that the page is drawn from, once for each component that reads one. */
const shown = new Set<{ readonly message: object }>()

/**
 * Registers a message for as long as what was drawn from it is on the page, also while that waits
 * for an answer and is hidden, when layout effects have been taken back.
 */
export function useShown(message: object | null | undefined): void {
  useEffect(() => {
    if (!message) return
    const entry = { message }
    shown.add(entry)
    return () => {
      shown.delete(entry)
    }
  }, [message])
}

/**
 * The position up to which everything on the page is known to be current: that of its oldest
 * answer. A message that has arrived and is not drawn yet does not move it on.
 */
export function shownPosition(): bigint | undefined {
  let oldest: bigint | undefined
  for (const { message } of shown) {
    const position = positions.get(message)
    if (position !== undefined && (oldest === undefined || position < oldest)) oldest = position
  }
  return oldest
}
