// Who can read the origin of failed sign-ins: the user, and readers of users who can also read
// sessions.
import { afterAll, beforeAll, expect, test } from "vitest"
import { checkPassword } from "../../../src/domain/credential/commands.ts"
import { openStage, type Stage } from "../target/stage.ts"

const members = "internal_permission.v2.InternalPermissionService"
const address = "203.0.113.7"
const userAgent = "Mozilla/5.0 Firefox/140.0"

let stage: Stage
let targetUserId: string
beforeAll(async () => {
  stage = await openStage()
  targetUserId = await newPerson("ada")
  await checkPassword(
    { ...stage.house.within(), from: { address, userAgent } },
    targetUserId,
    "wrong",
  )
})
afterAll(() => stage.close())

async function newPerson(username: string): Promise<string> {
  const { id } = await stage.make("user/CreateUser", {
    organizationId: stage.house.orgId,
    username,
    human: {
      profile: { givenName: "Ada", familyName: "Lovelace" },
      email: { email: `${username}@example.com`, isVerified: true },
    },
  })
  return id
}

const listedBy = async (userId: string) => {
  const how = { as: `${userId} ${stage.house.orgId}` }
  const list = "activity.v2.ActivityService/ListFailedSignIns"
  return (await stage.make(list, { userId: targetUserId }, how)).failedSignIns
}

async function administrator(username: string, role: string): Promise<string> {
  const [userId, { orgId }] = [await newPerson(username), stage.house]
  const resource = { organizationId: orgId }
  await stage.make(`${members}/CreateAdministrator`, { userId, resource, roles: [role] })
  return userId
}

test("a role that can read users but not sessions sees neither address nor browser", async () => {
  const [failed, ...others] = await listedBy(await administrator("vera", "ORG_OWNER_VIEWER"))
  expect(others).toEqual([])
  expect(failed).toMatchObject({ check: "FAILED_CHECK_PASSWORD" })
  expect(failed.address || failed.userAgent).toBeFalsy()
})

test("a role that can read sessions sees both, and so does the user", async () => {
  const manager = await administrator("mia", "ORG_USER_MANAGER")
  expect(await listedBy(manager)).toMatchObject([{ address, userAgent }])
  expect(await listedBy(targetUserId)).toMatchObject([{ address, userAgent }])
})
