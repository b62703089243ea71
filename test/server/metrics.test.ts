import { expect, test } from "vitest"
import { authenticationChecks, deliveryStatuses } from "../../src/server/metrics/counted-events.ts"
import { aggregates } from "../../src/server/modules.ts"

test("every counted event type is one that is written", () => {
  const written = new Set(aggregates.flatMap(({ evolve }) => Object.keys(evolve)))
  const counted = [...authenticationChecks.keys(), ...deliveryStatuses.keys()]
  expect(counted.filter((type) => !written.has(type))).toEqual([])
})
