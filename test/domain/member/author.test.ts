// Over every operation: what a target has changed must be permitted to its author as to a caller.
import type { Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Access, accessOf, authorise } from "../../../src/api/access.ts"
import { permitAuthors } from "../../../src/api/author.ts"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { authority } from "../../../src/server/modules.ts"
import { person } from "../../support/estate.ts"
import { callerOf, type World } from "../../support/world.ts"
import { goldenRoles, heldOn, openMatrix, requestFor, ruled, waysOf } from "./matrix.ts"

const narrow = "narrow"
const deactivated = "deactivated"
const otherOwner = "other-owner"
const owner = "alpha.IAM_OWNER"

let world: World
beforeAll(async () => {
  world = await openMatrix()
  await createRole(world.cx(), {
    key: "TARGETS",
    displayName: "Targets",
    level: "instance",
    permissions: ["action.target.write", "action.execution.write"],
  })
  const roles = { [narrow]: "TARGETS", [deactivated]: "IAM_OWNER", [otherOwner]: "IAM_OWNER" }
  await world.store.transact(world.cx(), (tx) => {
    for (const [userId, role] of Object.entries(roles)) {
      addUser(tx, userId, person(userId, "alpha"))
      addMember(tx, { userId, target: { level: "instance" }, roles: [role] })
    }
    tx.append(user, deactivated, [{ type: "user.deactivated", data: {} }])
  })
})
afterAll(() => world.close())

const resources = new Set(Object.keys(authority.resources))

type Tried = { readonly name: string; readonly access: Access; readonly request: Message }

/** Every operation that a target can have a say in, and each way into it. */
const tried: readonly Tried[] = ruled.flatMap(({ method, rule }) => {
  const access = accessOf(method, resources)
  const ways = waysOf(rule)
  const name = `${method.parent.typeName}/${method.name}`
  if (ways === "public" || ways === "system") return []
  if (ways === "authenticated") return [{ name, access, request: create(method.input) }]
  return ways.map((way) => ({ name, access, request: requestFor(method, way) }))
})

const ends = (act: () => unknown): string => {
  try {
    act()
    return "allowed"
  } catch (refusal) {
    return (refusal as { readonly id: string }).id
  }
}

/** What comes of a request of an owner that a target of somebody has changed. */
function asAuthor({ access, request }: Tried, userId: string): string {
  const { scope: _, ...cx } = world.cx({ caller: callerOf(owner, "alpha") })
  return ends(() => {
    const called = authorise(authority, access, cx, request)
    return permitAuthors(authority, access, { ...called, authors: [userId] }, request)
  })
}

/** What comes of it where they ask it themself. */
function asCaller({ access, request }: Tried, userId: string): string {
  const { scope: _, ...cx } = world.cx({ caller: callerOf(userId, "alpha") })
  return ends(() => authorise(authority, access, cx, request))
}

const isOwnReading = ({ access }: Tried) => access.kind === "authenticated" && !access.changes

describe("a request that a target has changed", () => {
  test("is permitted to nobody who holds only what sets up targets", () => {
    const others = tried.filter((each) => !isOwnReading(each))
    expect(others.length).toBeGreaterThan(500)
    const admitted = others.filter((each) => asAuthor(each, narrow) === "allowed")
    const own = /\/(Create|Update|Delete|Patch|Set)(Target|Execution)$|PublicKey$/
    expect(admitted.map(({ name }) => name).filter((name) => !own.test(name))).toEqual([])
  })

  test("is permitted to no author who is deactivated", () => {
    expect(tried.filter((each) => asAuthor(each, deactivated) === "allowed")).toEqual([])
  })

  test("is permitted to an author who owns the instance, as to their equal", () => {
    const refused = tried.filter((each) => {
      const isTheirs = asCaller(each, owner) === "allowed"
      return isTheirs !== (asAuthor(each, otherOwner) === "allowed")
    })
    expect(refused.map(({ name }) => name)).toEqual([])
  })

  const roles = [...goldenRoles].flatMap(([name, { level }]) => (heldOn[level] ? [name] : []))
  test.each(roles)("is permitted to %s no further than what they ask themself", (role) => {
    const userId = `alpha.${role}`
    const beyond = tried.filter(
      (each) => asAuthor(each, userId) === "allowed" && asCaller(each, userId) !== "allowed",
    )
    expect(beyond.map(({ name }) => name)).toEqual([])
  })
})
