// Every operation, in every encoding that it has: the rows are data, this runs them.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type House, openHouse } from "./house.ts"
import type { Row } from "./row.ts"
import { accessRows } from "./rows/access.ts"
import { actionRows } from "./rows/action.ts"
import { applicationRows } from "./rows/application.ts"
import { assetRows } from "./rows/asset.ts"
import { factorRows } from "./rows/factor.ts"
import { idpRows } from "./rows/idp.ts"
import { instanceRows } from "./rows/instance.ts"
import { messageRows } from "./rows/message.ts"
import { messageProviderRows } from "./rows/message-provider.ts"
import { oidcRows } from "./rows/oidc.ts"
import { olderRows } from "./rows/older.ts"
import { organizationRows } from "./rows/organization.ts"
import { policyRows } from "./rows/policy.ts"
import { projectRows } from "./rows/project.ts"
import { samlRows } from "./rows/saml.ts"
import { selfRows } from "./rows/self.ts"
import { systemRows } from "./rows/system.ts"
import { textRows } from "./rows/text.ts"
import { userRows } from "./rows/user.ts"
import { methods, runRow, waysTo } from "./run.ts"
import { closeWays, type Way } from "./ways.ts"

const rows = {
  access: accessRows,
  action: actionRows,
  application: applicationRows,
  asset: assetRows,
  idp: idpRows,
  instance: instanceRows,
  oidc: oidcRows,
  older: olderRows,
  organization: organizationRows,
  message: messageRows,
  messageProvider: messageProviderRows,
  policy: policyRows,
  project: projectRows,
  saml: samlRows,
  factor: factorRows,
  self: selfRows,
  system: systemRows,
  text: textRows,
  user: userRows,
}

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(async () => {
  closeWays()
  await house.close()
})

test("every operation of the book has a row", () => {
  const called = new Set(Object.values(rows).flatMap((each) => each.map(({ call }) => call)))
  expect([...methods.keys()].filter((call) => !called.has(call))).toEqual([])
})

describe.each(Object.entries(rows))("%s", (_, each) => {
  test.each(each.map((row) => [titleOf(row), row] as const))("%s", async (_, row) => {
    for (const [name, way] of waysTo(row)) await check(row, name, way)
  })
})

const titleOf = ({ call, name, as = "manager" }: Row) =>
  `${call}${name ? ` ${name}` : ""}, as ${as}`

/** Names the way in what it compares, so that a failure says which encoding is another. */
async function check(row: Row, way: string, run: Way): Promise<void> {
  const own = row.once ? await openHouse() : house
  const { code, id, body, events, status, expected } = await runRow(own, row, run)
  if (row.once) await own.close()
  expect({ way, code, id, events }).toEqual({
    way,
    code: row.code ?? "ok",
    id: row.id,
    events: row.events ?? [],
  })
  if (code === "ok") {
    expect({ way, body }).toMatchObject({ way, body: expected })
    if (status !== undefined) expect({ way, status }).toEqual({ way, status: 200 })
  }
}
