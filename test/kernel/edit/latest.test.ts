// Updates that first read the current state.
import { describe, expect, test } from "vitest"
import { retryOnConflict } from "../../../src/kernel/edit/latest.ts"
import { Fault, staleEditError } from "../../../src/kernel/fault.ts"
import { contextOf } from "../../api/world.ts"

const createStaleError = () => staleEditError({ userId: "", displayName: "", time: 0 })

/** A call with a log that grows by one at each read. */
function callOnGrowingLog(expectedVersion?: number) {
  let head = 0
  const store = { log: { durable: () => ++head } }
  return { ...contextOf("owner", { expectedVersion }), store }
}

/** The versions of the attempts of an update that is stale a number of times. */
async function attemptsOf(
  cx: ReturnType<typeof callOnGrowingLog>,
  late: number,
  cause: Error = createStaleError(),
) {
  const versions: (number | undefined)[] = []
  const update = async (cx: { readonly expectedVersion?: number | undefined }) => {
    versions.push(cx.expectedVersion)
    if (versions.length <= late) throw cause
    return "done"
  }
  const outcome = await retryOnConflict(cx, update).catch((cause: unknown) => cause)
  return { versions, outcome }
}

describe("an update that reads first", () => {
  test("is retried with the newer state if that has changed since", async () => {
    expect(await attemptsOf(callOnGrowingLog(), 2)).toEqual({
      versions: [1, 2, 3],
      outcome: "done",
    })
  })

  test("is not retried if the caller has read an older state", async () => {
    const { versions, outcome } = await attemptsOf(callOnGrowingLog(7), 1)
    expect({ versions, outcome }).toMatchObject({ versions: [7], outcome: { id: "edit.stale" } })
  })

  test("is not retried for another fault, nor indefinitely", async () => {
    const denied = new Fault("permission_denied", "access.denied", "no")
    expect(await attemptsOf(callOnGrowingLog(), 1, denied)).toEqual({
      versions: [1],
      outcome: denied,
    })
    const { versions, outcome } = await attemptsOf(callOnGrowingLog(), 1000)
    expect(versions).toHaveLength(16)
    expect(outcome).toMatchObject({ id: "edit.stale" })
  })
})
