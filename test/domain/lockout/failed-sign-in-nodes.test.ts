// Origins of failed sign-ins are erased with the user, including those that another node has just
// stored.

import { describe, expect, test } from "vitest"
import * as instances from "../../../src/domain/instance/index.ts"
import { countFailure } from "../../../src/domain/lockout/attempt.ts"
import { countFactorFailure } from "../../../src/domain/lockout/check-count.ts"
import * as orgs from "../../../src/domain/org/index.ts"
import { orgView } from "../../../src/domain/org/view.ts"
import * as policies from "../../../src/domain/policy/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import type { Transaction } from "../../../src/store/index.ts"
import { testNodes } from "../../store/node.ts"
import { needs } from "../../support/prerequisite.ts"
import * as people from "../../support/user-modules.ts"
import { human, provision } from "../user/household.ts"

const address = "203.0.113.7"
const aggregates = [
  instances.instance,
  orgs.org,
  ...policies.module.aggregates,
  ...people.aggregates,
]

describe.runIf(needs("postgres"))("on nodes with a PostgreSQL log", () => {
  const { node, on, asked } = testNodes({ aggregates, views: [orgView, ...people.views] })

  test.each([
    ["password", (tx: Transaction, id: string) => countFailure(tx, id)],
    ["code", (tx: Transaction, id: string) => countFactorFailure(tx, id, "totp")],
  ])(
    "erases the origin of a first wrong %s that is concurrent with the deletion",
    async (_, count) => {
      const [one, two] = [await node(), await node()]
      await provision(on(one))
      const ids = Array.from({ length: 10 }, (_each, at) => `u${at}`)
      for (const id of ids) {
        const email = { value: `${id}@example.com`, verified: true }
        await createUser(on(one), id, human({ userName: id, email }))
      }
      await two.node?.caughtUp()
      for (const id of ids) {
        const failing = {
          ...on(one, { requestId: `fail ${id}` }),
          from: { address, userAgent: "" },
        }
        const failed = one.transact(failing, (tx) => count(tx, id))
        await Promise.all([failed, removeUser(on(two, { requestId: `remove ${id}` }), id)])
      }
      const kept = await asked<{ id: string }>(
        `SELECT id FROM event WHERE private::text LIKE '%${address}%'`,
      )
      expect(kept).toEqual([])
      const tried = await asked(`SELECT id FROM event WHERE type LIKE '%.check.failed'`)
      expect(tried).toHaveLength(10)
    },
  )
})
