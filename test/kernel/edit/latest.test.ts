// Updates that read first what they change.
import { describe, expect, test } from "vitest"
import { onLatest } from "../../../src/kernel/edit/latest.ts"
import { Fault, staleError } from "../../../src/kernel/fault.ts"
import { contextOf } from "../../api/world.ts"

const stale = () => staleError({ userId: "", displayName: "", time: 0 })

/** A call on a log that grows by one each time that somebody looks. */
function growing(expectedVersion?: number) {
  let head = 0
  const store = { log: { durable: () => ++head } }
  return { ...contextOf("owner", { expectedVersion }), store }
}

/** The versions of the attempts of an update that comes too late some times. */
async function attemptsOf(cx: ReturnType<typeof growing>, late: number, cause: Error = stale()) {
  const versions: (number | undefined)[] = []
  const update = async (cx: { readonly expectedVersion?: number | undefined }) => {
    versions.push(cx.expectedVersion)
    if (versions.length <= late) throw cause
    return "done"
  }
  const outcome = await onLatest(cx, update).catch((cause: unknown) => cause)
  return { versions, outcome }
}

describe("an update that reads first", () => {
  test("is tried again with what is newer, where that has changed meanwhile", async () => {
    expect(await attemptsOf(growing(), 2)).toEqual({ versions: [1, 2, 3], outcome: "done" })
  })

  test("is not tried again where the caller has read something older", async () => {
    const { versions, outcome } = await attemptsOf(growing(7), 1)
    expect({ versions, outcome }).toMatchObject({ versions: [7], outcome: { id: "edit.stale" } })
  })

  test("is not tried again for another fault, nor for ever", async () => {
    const denied = new Fault("permission_denied", "access.denied", "no")
    expect(await attemptsOf(growing(), 1, denied)).toEqual({ versions: [1], outcome: denied })
    const { versions, outcome } = await attemptsOf(growing(), 1000)
    expect(versions).toHaveLength(16)
    expect(outcome).toMatchObject({ id: "edit.stale" })
  })
})
