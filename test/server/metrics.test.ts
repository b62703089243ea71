import { expect, test } from "vitest"
import { checks, deliveries } from "../../src/server/metrics/event-kind.ts"
import { aggregates } from "../../src/server/modules.ts"

test("each event that is counted is one that is written", () => {
  const written = new Set(aggregates.flatMap(({ evolve }) => Object.keys(evolve)))
  const counted = [...checks.keys(), ...deliveries.keys()]
  expect(counted.filter((type) => !written.has(type))).toEqual([])
})
